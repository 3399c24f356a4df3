"""Attacks with the language's own means: code from text, clocks, chance, serialisation, memory.

No permission stands against these: what a program may do with strings, regular expressions,
generators and numbers it can also overdo, or use to see what differs from run to run.
"""

from pml.runtime.sandbox.probe import CATCH_PORT, Judge, Probe, through_global

_REALM = (
    through_global(
        "reach Deno's own functions by their symbol",
        'Deno[Deno.internal].core.ops; return "breached";',
    ),
    Probe(
        name="take a node: module from the process",
        guard="globals",
        beside=("events",),
        program='return process.getBuiltinModule("os").EOL ? "breached" : "no";',
    ),
    through_global("ask what memory the process has", 'Deno.memoryUsage(); return "breached";'),
    through_global(
        "ask for more permissions",
        'await Deno.permissions.request({name: "env"}); return "breached";',
    ),
    through_global(
        "ask how many processors there are",
        'return navigator.hardwareConcurrency > 0 ? "breached" : "none";',
    ),
    through_global(
        "add to shared memory",
        'Atomics.add(new Int32Array(new SharedArrayBuffer(8)), 0, 1);return "breached";',
    ),
    through_global(
        "wait for shared memory without blocking",
        "const w = Atomics.waitAsync(new Int32Array(new SharedArrayBuffer(8)), 0, 0, 1);"
        'await w.value; return "breached";',
    ),
    through_global(
        "instantiate WebAssembly",
        "await WebAssembly.instantiate(new Uint8Array([0, 97, 115, 109, 1, 0, 0, 0]));"
        'return "breached";',
    ),
    through_global(
        "allocate memory through WebAssembly",
        'new WebAssembly.Memory({initial: 1}); return "breached";',
    ),
    through_global("open a message channel of its own", 'new MessageChannel(); return "breached";'),
    through_global(
        "import code from a blob",
        "const url = URL.createObjectURL(new Blob(['export default \"breached\"'],"
        ' {type: "application/javascript"})); return (await import(url)).default;',
    ),
    through_global(
        "read a blob outside of turns",
        'await new Blob(["x"]).stream().getReader().read(); return "breached";',
    ),
    through_global(
        "watch what the engine measures",
        'new PerformanceObserver(() => 0); return "breached";',
    ),
    through_global(
        "time a file by its date", 'return new File([], "x").lastModified ? "breached" : "no";'
    ),
)

_CODE = (
    Probe(
        name="make an asynchronous function of text",
        guard="codegen",
        program='return (async () => 0).constructor(\'return "brea" + "ched"\')();',
    ),
    Probe(
        name="make a generator of text",
        guard="codegen",
        program='return (function* () {}).constructor(\'yield "brea" + "ched"\')().next().value;',
    ),
    Probe(
        name="make an asynchronous generator of text",
        guard="codegen",
        program='const made = (async function* () {}).constructor(\'yield "brea" + "ched"\');'
        "for await (const value of made()) return value;",
    ),
    Probe(
        name="run text as code through a proxy",
        guard="codegen",
        program='return new Proxy(eval, {})(\'"brea" + "ched"\');',
    ),
    Probe(
        name="derive a class from Function",
        guard="codegen",
        program='return new (class extends Function {})(\'return "brea" + "ched"\')();',
    ),
)

_YEAR = 'return text.includes("2023") ? "the run\'s year" : "breached";'
"""The self-test's runs take place in 2023."""
_CHANCE = (
    Probe(
        name="read the machine's clock through Intl",
        guard="determinism",
        program='const text = new Intl.DateTimeFormat("en", {dateStyle: "full"}).format();' + _YEAR,
    ),
    Probe(
        name="read the machine's clock in parts",
        guard="determinism",
        program='const parts = new Intl.DateTimeFormat("en").formatToParts();'
        'const text = parts.map((part) => part.value).join("");' + _YEAR,
    ),
    Probe(
        name="read the machine's clock through Temporal",
        guard="determinism",
        program="return Temporal.Now.instant().epochMilliseconds === args.now"
        ' ? "the run\'s time" : "breached";',
    ),
    Probe(
        name="read the machine's clock as text",
        guard="determinism",
        program="const text = Date();" + _YEAR,
    ),
    Probe(
        name="find the machine's Date by its prototype",
        guard="determinism",
        program="const found = new (class extends Date.prototype.constructor {})().getTime();"
        'return found === args.now ? "the run\'s time" : "breached";',
    ),
    Probe(
        name="draw random numbers that differ between runs",
        guard="determinism",
        program='return Math.random() === args.random ? "the run\'s chance" : "breached";',
    ),
    Probe(
        name="fill an array with the machine's chance",
        guard="determinism",
        program="return crypto.getRandomValues(new Uint8Array(8)).join() === args.bytes"
        ' ? "the run\'s chance" : "breached";',
    ),
    Probe(
        name="make a key of the machine's chance",
        guard="determinism",
        program='await crypto.subtle.generateKey({name: "AES-GCM", length: 256}, true,'
        ' ["encrypt"]); return "breached";',
    ),
)

_FORGERY = (
    Probe(
        name="settle in the middle of a turn that never was",
        guard="frames",
        beside=("events", "stamp"),
        program=CATCH_PORT
        + 'port.postMessage(\'{"consumed":99,"items":[{"type":"return",'
        + '"value":"\\\\"breached\\\\""}]}\'); await mcp.a.b(); await mcp.a.b(); return 1;',
    ),
    Probe(
        name="forge a call whose arguments are no JSON",
        guard="frames",
        beside=("events", "stamp"),
        program=CATCH_PORT
        + 'port.postMessage(\'{"consumed":2,"items":[{"type":"issue","call":1,"site":"n1",'
        + '"server":"a","tool":"forged","arguments":"{]"}]}\'); await mcp.a.b(); return 1;',
        judge=Judge.FORGED,
    ),
    Probe(
        name="settle with a port that was caught",
        guard="stamp",
        beside=("events",),
        program=CATCH_PORT
        + 'port.postMessage(\'{"consumed":2,"items":[{"type":"return",'
        + '"value":"\\\\"breached\\\\""}]}\'); await mcp.a.b(); await mcp.a.b(); return 1;',
    ),
    Probe(
        name="replace the constructor that the port's promises ask for",
        guard="events",
        program="const own = {get: () => Promise, configurable: true};"
        'return Reflect.defineProperty(Promise.prototype, "constructor", own)'
        ' ? "breached" : "it stays";',
    ),
    Probe(
        name="patch JSON.stringify to forge the result",
        guard="intrinsics",
        program="const own = JSON.stringify; JSON.stringify = (value, check) =>"
        " value === 'honest' ? '\"breached\"' : own(value, check); return 'honest';",
    ),
)

_LEFTOVERS = (
    Probe(
        name="inherit another run's species of arrays",
        guard="single_use",
        first="const leak = class extends Array {};"
        "Object.defineProperty(Array, Symbol.species, {get: () => leak}); return 1;",
        program='return [1].map(String).constructor === Array ? "our own" : "breached";',
    ),
    Probe(
        name="find another run's getter on every object",
        guard="single_use",
        first='Object.defineProperty(Object.prototype, "leak", {get: () => 1}); return 1;',
        program='return ({}).leak === 1 ? "breached" : "nothing there";',
    ),
    Probe(
        name="learn another run's settings from a stack",
        guard="single_use",
        first="Error.stackTraceLimit = 3; return 1;",
        program='return Error.stackTraceLimit === 3 ? "breached" : "as it was";',
    ),
)

_GREED = (
    Probe(
        name="exhaust the heap with text",
        guard="heap",
        beside=("cpu",),
        program="const kept = []; for (let i = 0; i < 40; i++)"
        ' kept.push(JSON.parse(`"${i}${"x".repeat(4e6)}"`)); return "breached";',
    ),
    Probe(
        name="exhaust the heap with a map",
        guard="heap",
        beside=("cpu",),
        program="const kept = new Map(); for (let i = 0; i < 2e6; i++) kept.set(i + 0.5, [i]);"
        'return "breached";',
    ),
    Probe(
        name="exhaust the heap with causes of errors",
        guard="heap",
        beside=("cpu",),
        program="let error; Error.stackTraceLimit = 0;"
        "for (let i = 0; i < 4e5; i++) error = new Error(`no ${i}`, {cause: error});"
        'return "breached";',
    ),
    Probe(
        name="exhaust the heap with generators that wait",
        guard="heap",
        beside=("cpu",),
        program="const kept = []; for (let i = 0; i < 1e5; i++) {"
        " const one = (async function* () { const held = Array(40).fill(i + 0.5); yield held; })();"
        ' one.next(); kept.push(one); } return "breached";',
    ),
    Probe(
        name="exhaust the heap by decoding",
        guard="heap",
        beside=("cpu",),
        program="const kept = []; const bytes = new Uint8Array(1e7).fill(120);"
        "for (let i = 0; i < 16; i++) kept.push(new TextDecoder().decode(bytes));"
        'return "breached";',
    ),
    Probe(
        name="exhaust memory with clones",
        guard="data",
        beside=("cpu",),
        program="const kept = [], one = new ArrayBuffer(1e8);"
        "for (let i = 0; i < 12; i++) kept.push(structuredClone(one));"
        'return "breached";',
    ),
    Probe(
        name="exhaust memory with blobs",
        guard="data",
        beside=("cpu",),
        program="const kept = [], one = new Uint8Array(1e8);"
        'for (let i = 0; i < 12; i++) kept.push(new Blob([one])); return "breached";',
    ),
    Probe(
        name="exhaust memory with many small buffers",
        guard="data",
        beside=("cpu",),
        program="const kept = []; for (let i = 0; i < 4000; i++) kept.push(new Float64Array(1e5));"
        'return "breached";',
    ),
    Probe(
        name="multiply numbers without end",
        guard="cpu",
        program="for (;;) (3n ** 200000n) * (7n ** 200000n);",
        judge=Judge.SURVIVED,
    ),
    Probe(
        name="flood stdout with one line",
        guard="output",
        program='console.log("x".repeat(3e6)); await mcp.a.b(); return "breached";',
    ),
    Probe(
        name="flood stdout with a table",
        guard="output",
        beside=("cpu",),
        program='const row = {a: "x".repeat(1000), b: "y".repeat(1000)};'
        "for (let i = 0; i < 60; i++) console.table(Array(10).fill(row));"
        'await mcp.a.b(); return "breached";',
    ),
)


def _endless(name: str, program: str) -> Probe:
    """Something that never ends by itself, where only the run's deadline helps."""
    return Probe(
        name=name, guard="deadline", beside=("cpu",), program=program, judge=Judge.SURVIVED
    )


_ENDLESS = (
    _endless(
        "generate for ever", "for await (const _ of (async function* () { for (;;) yield 1; })());"
    ),
    _endless("answer with a toJSON that never ends", "return {toJSON() { for (;;); }};"),
    _endless("fail with a message that never ends", "throw {get message() { for (;;); }};"),
    _endless(
        "list the members of a proxy for ever", "return new Proxy({}, {ownKeys() { for (;;); }});"
    ),
    _endless("promise itself for ever", "return {then(ok) { queueMicrotask(() => ok(this)); }};"),
    _endless("pass an argument that never ends", "await mcp.a.b({get x() { for (;;); }});"),
    _endless("set timers for ever", "await new Promise(() => { setInterval(() => 0, 0); });"),
    _endless(
        "overflow the stack for ever", "const f = () => { try { f(); } finally { f(); } }; f();"
    ),
)

LANGUAGE: tuple[Probe, ...] = (
    *_REALM,
    *_CODE,
    *_CHANCE,
    *_FORGERY,
    *_LEFTOVERS,
    *_GREED,
    *_ENDLESS,
)
