"""Hostile programs, as data: what each tries, and which guard has to stop it.

A program returns ``"breached"`` when its attack worked; anything else (an error, another
value, the death of its process) is a refusal.  Where success shows only from outside, the
probe names another judge.  ``beside`` lists guards that would stop the attack too: they are
switched off in a second attack and in the control, so that one guard alone is tried.

Programs find in ``args``: ``file`` and ``code`` (paths that everybody may read), ``secret`` (a
path that only our user may read), ``port`` (a canary that speaks HTTP), ``broker`` (the port
of the pool), ``pid`` (a process of ours), and the time of their start, ``now``.
"""

from enum import StrEnum

from pml.domain.record import Record


class Judge(StrEnum):
    """How the success of an attack shows."""

    VALUE = "value"
    """The program returned ``"breached"``."""
    KILLED = "killed"
    """The process ended by the program's own hand."""
    HIT = "hit"
    """The canary got a request."""
    OUTPUT = "output"
    """``forged-frame`` stands on stdout."""
    FORGED = "forged"
    """A call of ``forged`` reached us, which the code never made."""
    SURVIVED = "survived"
    """It still runs after the deadline."""
    FILES = "files"
    """It left new files behind while it ran."""


class Probe(Record, frozen=True, kw_only=True):
    """One attack."""

    name: str
    guard: str
    """Field of `Guards` that has to stop it."""
    program: str
    beside: tuple[str, ...] = ()
    judge: Judge = Judge.VALUE
    first: str | None = None
    """A program of another run that went before in the same pool."""


def _deno(name: str, program: str, *beside: str, judge: Judge = Judge.VALUE) -> Probe:
    """An attack through Deno's own functions, which permissions stop where globals do not."""
    return Probe(
        name=name,
        guard="permissions",
        beside=("globals", *beside),
        program=program,
        judge=judge,
    )


def _global(name: str, program: str, judge: Judge = Judge.VALUE) -> Probe:
    return Probe(name=name, guard="globals", program=program, judge=judge)


_FILES = (
    Probe(
        name="read a file through an import attribute",
        guard="permissions",
        program='const m = await import("file://" + args.file, {with: {type: "text"}});'
        'return m.default === "canary" ? "breached" : m.default;',
    ),
    Probe(
        name="import code from a file",
        guard="permissions",
        program='const m = await import("file://" + args.code); return m.default;',
    ),
    _deno("read a file", 'await Deno.readTextFile(args.file); return "breached";'),
    _deno("list a directory", 'for await (const e of Deno.readDir("/")) return "breached";'),
    _deno("ask for a file's size", 'await Deno.stat(args.file); return "breached";'),
    _deno(
        "write a file",
        'await Deno.writeTextFile(Deno.env.get("DENO_DIR") + "/x", "y"); return "breached";',
        "frozen_files",
    ),
    _deno(
        "make a link",
        'await Deno.symlink("/etc", Deno.env.get("DENO_DIR") + "/l"); return "breached";',
        "frozen_files",
    ),
    Probe(
        name="fill the disk through translated modules",
        guard="frozen_files",
        program="await mcp.a.turn();"
        "for (let i = 0; i < 3; i++) {"
        ' const text = `export default ${i} as number; /*${"x".repeat(1e5)}*/`;'
        ' await import("data:application/typescript;base64," + btoa(text)); }'
        "return 1;",
        judge=Judge.FILES,
    ),
    Probe(
        name="read a file of ours that others may not",
        guard="uid",
        beside=("permissions", "globals"),
        program='await Deno.readTextFile(args.secret); return "breached";',
    ),
    Probe(
        name="open hundreds of files",
        guard="open_files",
        beside=("permissions", "globals"),
        program="const open = []; for (let i = 0; i < 200; i++)"
        ' open.push(await Deno.open(args.file)); return "breached";',
    ),
)

_ENVIRONMENT = (
    Probe(
        name="read our environment",
        guard="environment",
        beside=("permissions", "globals"),
        program='return Deno.env.get("PML_CANARY") ? "breached" : "no such variable";',
    ),
    _deno("ask for a variable", 'Deno.env.get("HOME"); return "breached";'),
    _deno("ask for the host's name", 'Deno.hostname(); return "breached";'),
    _deno("ask who we are", 'Deno.uid(); return "breached";'),
)

_NETWORK = (
    _deno(
        "fetch from this machine",
        "await fetch(`http://127.0.0.1:${args.port}/x.js`); return 1;",
        judge=Judge.HIT,
    ),
    _deno(
        "connect to this machine",
        'const c = await Deno.connect({port: args.port, hostname: "127.0.0.1"});'
        'c.close(); return "breached";',
    ),
    _deno(
        "connect to the broker",
        'const c = await Deno.connect({port: args.broker, hostname: "127.0.0.1"});'
        'c.close(); return "breached";',
    ),
    _deno("listen on a port", 'Deno.listen({port: 0}).close(); return "breached";'),
    _deno(
        "open a WebSocket",
        "const s = new WebSocket(`ws://127.0.0.1:${args.port}/`);"
        "await new Promise((r) => { s.onerror = r; s.onopen = r; }); return 1;",
        judge=Judge.HIT,
    ),
    _deno("resolve a name", 'await Deno.resolveDns("localhost", "A"); return "breached";'),
    Probe(
        name="import a remote module without permission",
        guard="permissions",
        beside=("offline",),
        program="await import(`http://127.0.0.1:${args.port}/x.js`); return 1;",
        judge=Judge.HIT,
    ),
    Probe(
        name="import a remote module",
        guard="offline",
        beside=("permissions",),
        program="await import(`http://127.0.0.1:${args.port}/x.js`); return 1;",
        judge=Judge.HIT,
    ),
    Probe(
        name="import from npm",
        guard="offline",
        program='await import("npm:left-pad@1"); return 1;',
        judge=Judge.HIT,
    ),
    Probe(
        name="import from JSR",
        guard="offline",
        beside=("permissions",),
        program='await import("jsr:@std/path@1"); return 1;',
        judge=Judge.HIT,
    ),
)

_PROCESSES = (
    _deno(
        "run a program",
        'await new Deno.Command("/bin/sh", {args: ["-c", ":"]}).output(); return "breached";',
        "processes",
    ),
    _deno("load a library", 'Deno.dlopen("libc.so.6", {getpid: {parameters: [], result: "i32"}});'
          'return "breached";'),
    Probe(
        name="start many processes",
        guard="processes",
        beside=("permissions", "globals", "open_files"),
        program="for (let i = 0; i < 80; i++)"
        ' new Deno.Command("/bin/sh", {args: ["-c", "sleep 9"]}).spawn(); return "breached";',
    ),
    Probe(
        name="end a process of ours",
        guard="uid",
        beside=("permissions", "globals"),
        program='Deno.kill(args.pid, "SIGCONT"); return "breached";',
    ),
    _global("kill its own process", 'process.kill(process.pid, "SIGKILL"); await 0;', Judge.KILLED),
    _global(
        "kill its own process through Deno",
        'Deno.kill(Deno.pid, "SIGKILL"); await 0;',
        Judge.KILLED,
    ),
    _global("listen for signals", 'Deno.addSignalListener("SIGUSR1", () => 0); return "breached";'),
    _global("read stdin", 'Deno.stdin.readSync(new Uint8Array(64)); return "breached";'),
    _global(
        "forge a frame on stdout",
        'Deno.stdout.writeSync(new TextEncoder().encode("forged-frame\\n")); return 1;',
        Judge.OUTPUT,
    ),
    Probe(
        name="forge a frame on stdout through node:process",
        guard="builtins",
        beside=("globals",),
        program='const p = await import("node:process");'
        'p.stdout.write("forged-frame\\n"); return 1;',
        judge=Judge.OUTPUT,
    ),
    Probe(
        name="change V8's flags",
        guard="builtins",
        program='const v8 = await import("node:v8");'
        'v8.setFlagsFromString("--allow-natives-syntax"); return "breached";',
    ),
    Probe(
        name="run code in another context",
        guard="builtins",
        beside=("codegen", "globals"),
        program='const vm = await import("node:vm");'
        'return vm.runInNewContext("1 + 1") === 2 ? "breached" : "no";',
    ),
    Probe(
        name="start a thread through node:worker_threads",
        guard="builtins",
        beside=("globals", "events", "data"),
        program='const { Worker } = await import("node:worker_threads");'
        'new Worker("0", {eval: true}); return "breached";',
    ),
    Probe(
        name="reach node: modules by a static import",
        guard="builtins",
        program='return os.EOL ? "breached" : 0; }\nimport * as os from "node:os";\nif (true) {',
    ),
)  # fmt: skip

_WORKER = 'const w = new Worker("data:application/javascript,postMessage(1)", {type: "module"});'
_REALM = (
    Probe(
        name="start a nested worker",
        guard="globals",
        beside=("data",),
        program=_WORKER
        + "await new Promise((r) => { w.onmessage = r; });"
        + 'w.terminate(); return "breached";',
    ),
    _global(
        "speak over a BroadcastChannel",
        'const a = new BroadcastChannel("x"), b = new BroadcastChannel("x");'
        "const heard = new Promise((r) => { b.onmessage = r; }); a.postMessage(1); await heard;"
        'return "breached";',
    ),
    Probe(
        name="keep something in cache storage",
        guard="globals",
        beside=("frozen_files",),
        program='const c = await caches.open("x"); await c.put("http://a/b", new Response("y"));'
        'return "breached";',
    ),
    _global("share memory", 'new SharedArrayBuffer(8); return "breached";'),
    _global(
        "block the thread",
        'Atomics.wait(new Int32Array(new SharedArrayBuffer(8)), 0, 0, 1); return "breached";',
    ),
    _global("watch the garbage collector", 'new WeakRef({}).deref(); return "breached";'),
    _global("be called at finalization", 'new FinalizationRegistry(() => 0); return "breached";'),
    _global(
        "compile WebAssembly",
        'new WebAssembly.Module(new Uint8Array([0, 97, 115, 109, 1, 0, 0, 0]));return "breached";',
    ),
    _global("ask for a GPU", 'return typeof navigator.gpu === "object" ? "breached" : "none";'),
    _global("take a lock of the origin", 'await navigator.locks.query(); return "breached";'),
    _global("listen to the host", 'addEventListener("message", () => 0); return "breached";'),
    Probe(
        name="run text as code",
        guard="codegen",
        program='return eval(\'"brea" + "ched"\');',
    ),
    Probe(
        name="make a function of text",
        guard="codegen",
        program='return (() => 0).constructor(\'return "brea" + "ched"\')();',
    ),
    Probe(
        name="read the machine's clock",
        guard="determinism",
        program='return Date.now() !== args.now ? "breached" : "the run\'s time";',
    ),
    Probe(
        name="measure time",
        guard="determinism",
        program="const t = performance.now(); for (let i = 0; i < 1e6; i++);"
        'return performance.now() > t ? "breached" : "time stands still within a turn";',
    ),
    Probe(
        name="draw from the machine's chance",
        guard="determinism",
        program='return crypto.randomUUID() === args.uuid ? "the run\'s chance" : "breached";',
    ),
)

_CATCH_PORT = (
    "const native = EventTarget.prototype.dispatchEvent; let port;"
    "EventTarget.prototype.dispatchEvent = function (e) {"
    " port = this; return native.call(this, e); };"
    "await mcp.a.b();"
)
_FORGERY = (
    Probe(
        name="patch JSON.stringify to forge calls",
        guard="intrinsics",
        program="const own = JSON.stringify;"
        'JSON.stringify = (v) => v === "read" ? \'"forged"\' : own(v);'
        "await mcp.a.read(); return 1;",
        judge=Judge.FORGED,
    ),
    Probe(
        name="patch JSON.parse to forge outcomes",
        guard="intrinsics",
        program="const own = JSON.parse; JSON.parse = (text) => {"
        ' const m = own(text); if (m.type === "deliver") m.value = "breached"; return m; };'
        'return await mcp.a.read();',
    ),
    Probe(
        name="patch Promise.prototype.then to forge the result",
        guard="intrinsics",
        program="const own = Promise.prototype.then; Promise.prototype.then = function (ok, no) {"
        ' return own.call(this, () => ok("breached"), no); };'
        'return "honest";',
    ),
    Probe(
        name="patch dispatchEvent to catch the port",
        guard="events",
        program=_CATCH_PORT + 'return port?.postMessage ? "breached" : "no port came by";',
    ),
    Probe(
        name="catch the port with a setter on Object.prototype to forge a call",
        guard="stamp",
        beside=("events",),
        program="let port; Object.defineProperty(Object.prototype, '0', {configurable: true,"
        " set(v) { if (v?.item?.postMessage) port = v.item;"
        " Object.defineProperty(this, '0', {value: v, writable: true, configurable: true}); }});"
        "await mcp.a.b(); delete Object.prototype[0];"
        "port.postMessage('{\"consumed\":2,\"items\":[{\"type\":\"issue\",\"call\":1,'"
        "+'\"site\":\"n1\",\"server\":\"a\",\"tool\":\"forged\",\"arguments\":\"{}\"}]}');"
        "await mcp.a.b(); return 'the port came by, the message was ignored';",
        judge=Judge.FORGED,
    ),
    Probe(
        name="forge a result with the worker's own postMessage",
        guard="private_port",
        beside=("globals", "stamp"),
        program="self.postMessage('{\"consumed\":1,\"items\":[{\"type\":\"return\",'"
        "+'\"value\":\"\\\\\"breached\\\\\"\"}]}');"
        "await mcp.a.b(); await mcp.a.b(); return 1;",
    ),
    Probe(
        name="send a frame that breaks the count of calls",
        guard="frames",
        beside=("events", "stamp"),
        program=_CATCH_PORT
        + "port.postMessage('{\"consumed\":2,\"items\":[{\"type\":\"issue\",\"call\":77,'"
        + "+'\"site\":\"n1\",\"server\":\"a\",\"tool\":\"forged\",\"arguments\":\"{}\"}]}');"
        + "await mcp.a.b(); return 1;",
        judge=Judge.FORGED,
    ),
    Probe(
        name="read another run's state in the global object",
        guard="single_use",
        first="globalThis.leak = 1; return 1;",
        program='return globalThis.leak === 1 ? "breached" : "nothing there";',
    ),
    Probe(
        name="read another run's patches",
        guard="single_use",
        first="Array.prototype.leak = 1; return 1;",
        program='return [].leak === 1 ? "breached" : "nothing there";',
    ),
)  # fmt: skip

_RESOURCES = (
    Probe(
        name="exhaust the heap",
        guard="heap",
        program="const kept = []; for (let i = 0; i < 150; i++)"
        ' kept.push(Array.from({length: 65536}, (_, j) => i + j + 0.5)); return "breached";',
    ),
    Probe(
        name="exhaust memory outside the heap",
        guard="data",
        program="const kept = []; for (let i = 0; i < 4; i++) kept.push(new ArrayBuffer(1e9));"
        'return "breached";',
    ),
    Probe(
        name="use processor time",
        guard="cpu",
        program="for (;;);",
        judge=Judge.SURVIVED,
    ),
    Probe(
        name="loop for ever",
        guard="deadline",
        beside=("cpu",),
        program="for (;;);",
        judge=Judge.SURVIVED,
    ),
    Probe(
        name="match a regular expression for ever",
        guard="deadline",
        beside=("cpu",),
        program='return /^(a+)+$/.test("a".repeat(60) + "b");',
        judge=Judge.SURVIVED,
    ),
    Probe(
        name="queue microtasks for ever",
        guard="deadline",
        beside=("cpu",),
        program="for (;;) await null;",
        judge=Judge.SURVIVED,
    ),
    Probe(
        name="never settle",
        guard="deadline",
        program="await new Promise(() => 0);",
        judge=Judge.SURVIVED,
    ),
    Probe(
        name="flood stdout",
        guard="output",
        program='const line = "x".repeat(10_000);'
        'for (let i = 0; i < 500; i++) console.log(line); await mcp.a.b(); return "breached";',
    ),
    Probe(
        name="flood stderr",
        guard="output",
        program='const line = "x".repeat(10_000);'
        'for (let i = 0; i < 500; i++) console.error(line); await mcp.a.b(); return "breached";',
    ),
)

PROBES: tuple[Probe, ...] = (
    *_FILES,
    *_ENVIRONMENT,
    *_NETWORK,
    *_PROCESSES,
    *_REALM,
    *_FORGERY,
    *_RESOURCES,
)
