// Boot: everything below runs before the program exists.

function define(object, members) {
  for (const key of ownKeys(members)) {
    const value = members[key];
    defineProperty(object, key, { value, writable: true, enumerable: false, configurable: true });
  }
}

const KEPT = new Set([
  // the language, but for what shows time, threads or the garbage collector
  "AggregateError", "Array", "ArrayBuffer", "AsyncDisposableStack", "BigInt", "BigInt64Array",
  "BigUint64Array", "Boolean", "DataView", "Date", "DisposableStack", "Error", "EvalError",
  "Float16Array", "Float32Array", "Float64Array", "Function", "Infinity", "Int16Array",
  "Int32Array", "Int8Array", "Intl", "Iterator", "JSON", "Map", "Math", "NaN", "Number", "Object",
  "Promise", "Proxy", "RangeError", "ReferenceError", "Reflect", "RegExp", "Set", "String",
  "SuppressedError", "Symbol", "SyntaxError", "Temporal", "TypeError", "URIError", "Uint16Array",
  "Uint32Array", "Uint8Array", "Uint8ClampedArray", "WeakMap", "WeakSet", "decodeURI",
  "decodeURIComponent", "encodeURI", "encodeURIComponent", "escape", "eval", "globalThis",
  "isFinite", "isNaN", "parseFloat", "parseInt", "undefined", "unescape",
  // of the web what computes and does not reach out
  "AbortController", "AbortSignal", "Blob", "CustomEvent", "DOMException", "Event", "EventTarget",
  "TextDecoder", "TextEncoder", "URL", "URLPattern", "URLSearchParams", "atob", "btoa",
  "clearInterval", "clearTimeout", "console", "crypto", "performance", "queueMicrotask",
  "self", "setInterval", "setTimeout", "structuredClone",
  // ours
  "ToolError", "dispatchEvent",
]);

function removeGlobals() {
  setPrototypeOf(globalThis, Object.prototype);
  for (const key of ownKeys(globalThis)) {
    if (typeof key === "string" && !KEPT.has(key)) deleteProperty(globalThis, key);
  }
  define(globalThis, {
    fetch: () =>
      construct(NativePromise, [
        (_resolve, reject) =>
          reject(new NativeTypeError("fetch is not available in the sandbox: call a tool instead")),
      ]),
  });
  deleteProperty(URL, "createObjectURL");
  deleteProperty(URL, "revokeObjectURL");
  deleteProperty(Blob.prototype, "stream");
  for (const name of ["text", "arrayBuffer", "bytes"]) {
    const read = Blob.prototype[name];
    define(Blob.prototype, {
      [name]() {
        return withinTurn(() => apply(read, this, []));
      },
    });
  }
}

/**
 * The port dispatches through prototypes, iterators and array indices that a program can reach:
 * whoever listens there gets the port.  So it gets a dispatch of its own.
 */
function freezeEvents(native, receive) {
  defineProperty(port, "dispatchEvent", { value: receive });
  // a message event is given its data by assignment: a setter further up would get the event,
  // and with it the port
  const dataOf = new WeakMap();
  const [messageEvent] = native;
  defineProperty(messageEvent.prototype, "data", {
    get() {
      return mapGet(dataOf, this);
    },
    set(data) {
      mapSet(dataOf, this, data);
    },
  });
  for (const kind of native) {
    freeze(kind);
    freeze(kind.prototype);
  }
  // `await` asks a promise for its constructor, also inside the port
  defineProperty(Promise.prototype, "constructor", { writable: false, configurable: false });
}

/**
 * Deno reports errors that nobody catches by dispatching an event on the global; unhandled it
 * would end the worker.  Here it becomes an item of the turn.
 */
function catchStrayErrors() {
  const dispatchEvent = (event) => {
    const type = typeOf(event);
    if (type === "unhandledrejection") recordRejection(event.reason);
    else if (type === "error") recordRejection(event.error);
    preventDefault(event);
    return false;
  };
  defineProperty(globalThis, "dispatchEvent", { value: dispatchEvent });
}

/** What the self-test's controls switch off here; a sandbox in use never comes by. */
function weaken() {
  if (guards.intrinsics) return;
  parse = (text) => JSON.parse(text);
  stringifyAsIs = (value, check) => JSON.stringify(value, check);
  then = (promise, onValue, onError) => promise.then(onValue, onError);
}

/**
 * Imported and run while the process waits: the first import of TypeScript is more than ten times
 * as dear as later ones, the more so the more of the language the first one used.
 */
const WARM_UP = `
interface A { a: number; b?: string[] }
enum E { X, Y = 2 }
type Part<K extends keyof A> = Pick<A, K>;
export default async (call: (x: unknown) => Promise<number>, args: Record<string, number>) => {
  const seen = new Map<string, number>(Object.entries(args));
  const made: A[] = [...seen].map(([key, value]) => ({ a: value ?? 0, b: [key] }));
  const sums = await Promise.all(made.map(async (one: Part<"a">) => one?.a! + E.Y));
  try {
    for (let i = 0; i < 2; i++) if (sums.length > 0) await call({ i, ...made[0] });
  } catch (error) {
    throw new Error((error as Error).message);
  }
  return sums.filter((sum) => sum > 0).reduce((all, sum) => all + sum, 0);
};`;

async function boot(event) {
  ({ port, stamp, guards, limits } = event.data);
  const events = [MessageEvent, Event, EventTarget, MessagePort, MessageChannel];
  define(globalThis, { ToolError });
  const warmUp = new Blob([WARM_UP], { type: "application/typescript" });
  await (await import(makeUrl(warmUp))).default(async () => 0, { x: 1 });
  if (guards.determinism) {
    installTime();
    installChance();
    installStacks();
  }
  if (guards.globals) removeGlobals();
  const receive = (incoming) => {
    inputs[inputsTail++] = parse(incoming.data);
    nextInput();
  };
  if (guards.events) freezeEvents(events, receive);
  weaken();
  addListener(port, "message", receive);
  startPort(port);
  catchStrayErrors(); // last: until here an error is ours and ends the process
  send("ready");
}

addListener(globalThis, "message", boot, { once: true });
