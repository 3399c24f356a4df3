// Programs as plain JavaScript: no analysis, no instrumentation, no sandbox.
//
// Reads one input per line and answers each with the turn that it caused, in the same words
// as pml/runtime/sandbox/protocol.py, so that one driver can run both.  One program at a time;
// a new `start` forgets the one before.

const nextMacrotask = setImmediate;
const RealDate = Date;
const write = (text: string) => Deno.stdout.writeSync(new TextEncoder().encode(text + "\n"));

type Item = Record<string, unknown>;
type Settle = { resolve: (value: unknown) => void; reject: (error: unknown) => void };
type Timer = { run: () => void; every: number | null };

class ToolError extends Error {
  constructor(message: string, readonly tool: string, readonly code: string, readonly data: unknown) {
    super(message);
  }
}
Object.defineProperty(ToolError.prototype, "name", { value: "ToolError", writable: true });

let items: Item[] = [];
let calls: Settle[] = [];
let timers: Map<number, Timer> = new Map();
let timerCount = 0;
let settled = false;
let now = 0;
let generation = 0;

/** JSON text without halves of surrogate pairs, as the sandbox writes it (docs/explanation/execution.md). */
function json(value: unknown): string | undefined {
  return JSON.stringify(value)?.replace(/(?<=(?<!\\)(?:\\\\)*)\\ud[0-9a-f]{3}/g, "\ufffd");
}

function call(server: string, tool: string, args: unknown): Promise<unknown> {
  const text = args === undefined ? "{}" : json(args);
  if (text === undefined) throw new TypeError("arguments that are no JSON");
  items.push({ type: "issue", call: calls.length, site: "?", server, tool, arguments: text });
  if (settled) return new Promise(() => {}); // refused (design, section 5, rule 1)
  return new Promise((resolve, reject) => calls.push({ resolve, reject }));
}

function named(make: (name: string) => unknown): unknown {
  const made = new Map<string, unknown>();
  return new Proxy({}, {
    get(_, name) {
      if (typeof name !== "string" || name === "then" || name === "toJSON") return undefined;
      if (!made.has(name)) made.set(name, make(name));
      return made.get(name);
    },
  });
}

const CAPABILITIES = "capabilities";

function newMcp(): { mcp: unknown; capabilities: unknown } {
  const born = generation; // calls of a program that was forgotten reach nobody
  const use = (server: string, tool: string) => (args: unknown) =>
    born === generation ? call(server, tool, args) : new Promise(() => {});
  const capabilities = named((name) => use(CAPABILITIES, name));
  const server = (name: string) =>
    name === CAPABILITIES ? capabilities : named((tool) => use(name, tool));
  return { mcp: named(server), capabilities };
}

function setTimer(run: () => void, delay: number, every: boolean): number {
  const timer = timerCount++;
  timers.set(timer, { run, every: every ? delay : null });
  items.push({ type: "timer", timer, delayMs: delay });
  return timer + 1; // 0 would be falsy
}

const clear = (id?: number) => {
  if (id !== undefined && timers.delete(id - 1)) items.push({ type: "clear", timer: id - 1 });
};

Object.assign(globalThis, {
  ToolError,
  setTimeout: (run: (...a: unknown[]) => void, delay = 0, ...rest: unknown[]) =>
    setTimer(() => run(...rest), delay, false),
  setInterval: (run: (...a: unknown[]) => void, delay = 0, ...rest: unknown[]) =>
    setTimer(() => run(...rest), delay, true),
  clearTimeout: clear,
  clearInterval: clear,
  Date: class extends RealDate {
    constructor(...given: unknown[]) {
      // deno-lint-ignore no-explicit-any
      super(...((given.length ? given : [now]) as [any]));
    }
    static override now = () => now;
  },
});

AbortSignal.timeout = (delay: number) => {
  const controller = new AbortController();
  const late = () => controller.abort(new DOMException("Signal timed out.", "TimeoutError"));
  setTimer(late, delay, false);
  return controller.signal;
};

const described = (error: unknown) =>
  error instanceof Error ? `${error.name}: ${error.message}` : String(error);

globalThis.addEventListener("unhandledrejection", (event) => {
  event.preventDefault();
  items.push({ type: "rejection", message: described(event.reason) });
});

function threw(error: unknown): Item {
  const known = error instanceof Error;
  const text = typeof error === "object" && error !== null ? JSON.stringify(error) : String(error);
  const line = known ? /:(\d+):\d+\)?$/m.exec(error.stack ?? "")?.[1] : undefined;
  return {
    type: "throw",
    name: known ? error.name : "Error",
    message: known ? error.message.replace(/ at data:\S+$/, "") : text,
    line: line === undefined ? null : Number(line) - 1, // the wrapper's line
    tool: error instanceof ToolError ? error.tool : null,
    code: error instanceof ToolError ? error.code : null,
  };
}

function returned(value: unknown): Item {
  try {
    const text = json(value === undefined ? null : value);
    if (text === undefined) throw new TypeError("a result that is no JSON");
    return { type: "return", value: text };
  } catch (error) {
    return { ...threw(error), code: "not_json" };
  }
}

function settle(item: Item): void {
  settled = true;
  items.push(item);
}

// deno-lint-ignore no-explicit-any
async function start(input: any): Promise<void> {
  items = [];
  calls = [];
  timers = new Map();
  timerCount = 0;
  settled = false;
  now = input.nowMs;
  const born = ++generation;
  const names = Object.keys(input.parameters);
  const text = `export default async function (${["mcp", "capabilities", "args", ...names]}) {\n${input.source}\n}`;
  const bytes = new TextEncoder().encode(text + `\n//${born}`);
  let base64 = "";
  for (let i = 0; i < bytes.length; i += 3000) base64 += btoa(String.fromCharCode(...bytes.subarray(i, i + 3000)));
  try {
    const { default: program } = await import(`data:application/typescript;base64,${base64}`);
    const { mcp, capabilities } = newMcp();
    const given = names.map((name) => input.parameters[name]);
    program(mcp, capabilities, input.args, ...given).then(
      (value: unknown) => born === generation && settle(returned(value)),
      (error: unknown) => born === generation && settle(threw(error)),
    );
  } catch (error) {
    settle(threw(error)); // not a program
  }
}

// deno-lint-ignore no-explicit-any
function deliver(input: any): void {
  const { resolve, reject } = calls[input.call];
  if (input.code === undefined) resolve(input.value);
  else reject(new ToolError(input.message, input.tool, input.code, input.data));
}

function fire(number: number): void {
  const timer = timers.get(number)!;
  if (timer.every === null) timers.delete(number);
  try {
    timer.run();
  } catch (error) {
    items.push({ type: "rejection", message: described(error) });
  } finally {
    if (timer.every !== null && timers.has(number)) {
      items.push({ type: "timer", timer: number, delayMs: timer.every });
    }
  }
}

let rest = "";
for await (const chunk of Deno.stdin.readable.pipeThrough(new TextDecoderStream())) {
  const lines = (rest + chunk).split("\n");
  rest = lines.pop()!;
  for (const line of lines) {
    const input = JSON.parse(line);
    if (input.type !== "start") now = input.nowMs;
    if (input.type === "start") await start(input);
    else if (input.type === "deliver") deliver(input);
    else fire(input.timer);
    for (let tick = 0; tick < 2; tick++) await new Promise((done) => nextMacrotask(done));
    write(JSON.stringify(items));
    items = [];
  }
}
