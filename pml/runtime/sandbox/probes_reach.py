"""Attacks that reach out of the sandbox: files, environment, network, processes."""

from pml.runtime.sandbox.probe import Judge, Probe, through_deno, through_global

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
    through_deno("read a file", 'await Deno.readTextFile(args.file); return "breached";'),
    through_deno("list a directory", 'for await (const e of Deno.readDir("/")) return "breached";'),
    through_deno("ask for a file's size", 'await Deno.stat(args.file); return "breached";'),
    through_deno(
        "write a file",
        'await Deno.writeTextFile(Deno.env.get("DENO_DIR") + "/x", "y"); return "breached";',
        "frozen_files",
    ),
    through_deno(
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
    through_deno("ask for a variable", 'Deno.env.get("HOME"); return "breached";'),
    through_deno("ask for the host's name", 'Deno.hostname(); return "breached";'),
    through_deno("ask who we are", 'Deno.uid(); return "breached";'),
)

_NETWORK = (
    through_deno(
        "fetch from this machine",
        "await fetch(`http://127.0.0.1:${args.port}/x.js`); return 1;",
        judge=Judge.HIT,
    ),
    through_deno(
        "connect to this machine",
        'const c = await Deno.connect({port: args.port, hostname: "127.0.0.1"});'
        'c.close(); return "breached";',
    ),
    through_deno(
        "connect to the broker",
        'const c = await Deno.connect({port: args.broker, hostname: "127.0.0.1"});'
        'c.close(); return "breached";',
    ),
    through_deno("listen on a port", 'Deno.listen({port: 0}).close(); return "breached";'),
    through_deno(
        "open a WebSocket",
        "const s = new WebSocket(`ws://127.0.0.1:${args.port}/`);"
        "await new Promise((r) => { s.onerror = r; s.onopen = r; }); return 1;",
        judge=Judge.HIT,
    ),
    through_deno("list our networks", 'Deno.networkInterfaces(); return "breached";'),
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
    through_deno(
        "run a program",
        'await new Deno.Command("/bin/sh", {args: ["-c", ":"]}).output(); return "breached";',
        "processes",
    ),
    through_deno(
        "load a library",
        'Deno.dlopen("libc.so.6", {getpid: {parameters: [], result: "i32"}});'
        'return "breached";',
    ),
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
    through_global(
        "kill its own process",
        'process.kill(process.pid, "SIGKILL"); await 0;',
        Judge.KILLED,
    ),
    through_global(
        "kill its own process through Deno",
        'Deno.kill(Deno.pid, "SIGKILL"); await 0;',
        Judge.KILLED,
    ),
    through_global(
        "listen for signals",
        'Deno.addSignalListener("SIGUSR1", () => 0); return "breached";',
    ),
    through_global("read stdin", 'Deno.stdin.readSync(new Uint8Array(64)); return "breached";'),
    through_global(
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

REACH: tuple[Probe, ...] = (*_FILES, *_ENVIRONMENT, *_NETWORK, *_PROCESSES)
