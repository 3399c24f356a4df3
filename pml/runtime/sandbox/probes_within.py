"""Attacks within the sandbox: its realm, the protocol, other runs' state, its resources."""

from pml.runtime.sandbox.probe import CATCH_PORT, Judge, Probe, through_global

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
    through_global(
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
    through_global("share memory", 'new SharedArrayBuffer(8); return "breached";'),
    through_global(
        "block the thread",
        'Atomics.wait(new Int32Array(new SharedArrayBuffer(8)), 0, 0, 1); return "breached";',
    ),
    through_global("watch the garbage collector", 'new WeakRef({}).deref(); return "breached";'),
    through_global(
        "be called at finalization", 'new FinalizationRegistry(() => 0); return "breached";'
    ),
    through_global(
        "compile WebAssembly",
        'new WebAssembly.Module(new Uint8Array([0, 97, 115, 109, 1, 0, 0, 0]));return "breached";',
    ),
    through_global(
        "ask for a GPU", 'return typeof navigator.gpu === "object" ? "breached" : "none";'
    ),
    through_global(
        "take a lock of the origin", 'await navigator.locks.query(); return "breached";'
    ),
    through_global(
        "listen to the host", 'addEventListener("message", () => 0); return "breached";'
    ),
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
        program=CATCH_PORT + 'return port?.postMessage ? "breached" : "no port came by";',
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
        program=CATCH_PORT
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

WITHIN: tuple[Probe, ...] = (*_REALM, *_FORGERY, *_RESOURCES)
