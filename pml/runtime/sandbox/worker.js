// The inside of the sandbox: runs one program and reports what it does, turn by turn.
//
// This is the first code of a worker without permissions.  It keeps every intrinsic that it
// needs in constants, takes away every global that is not on its list, and only then imports
// the program.  From that moment on nothing here looks a method up on an object or prototype
// that the program can reach: hence `then(promise, f)` and never `promise.then(f)`.
//
// A turn: one input is worked off (the program starts, an outcome arrives, a timer fires), the
// microtasks drain, and in the next macrotask one message tells all that happened meanwhile.
// The protocol is `pml/runtime/sandbox/protocol.py`; messages are JSON text, built by hand from
// strings and numbers, because `JSON.stringify` of an object asks prototypes for `toJSON`.

/** @typedef {{permissions: boolean, globals: boolean, intrinsics: boolean, events: boolean,
 *   privatePort: boolean, determinism: boolean}} Guards  Which protections are on; all, but in
 *   the positive controls of the self-test. */
/** @typedef {{result: number, arguments: number, calls: number, timers: number}} Limits */

const { apply, construct, defineProperty, deleteProperty, getOwnPropertyDescriptor, ownKeys } =
  Reflect;
const { freeze, getPrototypeOf, hasOwn, setPrototypeOf } = Object;
/** @type {(method: Function) => (self: any, ...rest: any[]) => any} */
const uncurry = (method) => (self, ...rest) => apply(method, self, rest);

const NativePromise = Promise;
const NativeDate = Date;
const NativeProxy = Proxy;
const NativeTypeError = TypeError;
const NativeRangeError = RangeError;
const NativeError = Error;
const NativeBlob = Blob;
const NativeUint8Array = Uint8Array;
const makeUrl = URL.createObjectURL;
const macrotask = setImmediate;
const toText = String;
const isFiniteNumber = Number.isFinite;
const { floor, imul } = Math;
const isView = ArrayBuffer.isView;
let parse = JSON.parse;
let stringify = JSON.stringify;
let then = uncurry(Promise.prototype.then);
const indexOf = uncurry(String.prototype.indexOf);
const lastIndexOf = uncurry(String.prototype.lastIndexOf);
const slice = uncurry(String.prototype.slice);
const padStart = uncurry(String.prototype.padStart);
const numberToString = uncurry(Number.prototype.toString);
const exec = uncurry(RegExp.prototype.exec);
const toolsOf = new WeakMap();
const mapGet = uncurry(WeakMap.prototype.get);
const mapSet = uncurry(WeakMap.prototype.set);
const typeOf = uncurry(getOwnPropertyDescriptor(Event.prototype, "type").get);
const addListener = uncurry(EventTarget.prototype.addEventListener);
const preventDefault = uncurry(Event.prototype.preventDefault);
const getter = (prototype, key) => uncurry(getOwnPropertyDescriptor(prototype, key).get);
const sendOverPort = uncurry(MessagePort.prototype.postMessage);
const sendOverWorker = globalThis.postMessage;
const startPort = uncurry(MessagePort.prototype.start);

const SITE_MARK = "\u22a5";
const WITHOUT_SITE = "?";
/** A turn longer than this goes in parts: all but the last say that the input is not worked off. */
const PART_LENGTH = 1000000;
/** Longest delay of a timer, as in every engine; longer ones fire at once. */
const MAX_DELAY_MS = 2147483647;

/** @type {MessagePort} */ let port;
/** @type {string} */ let stamp; // goes before every message: who finds the port cannot write
/** @type {Guards} */ let guards;
/** @type {Limits} */ let limits;

// --- turns ---------------------------------------------------------------------------------

const inputs = { __proto__: null }; // a queue by number: arrays have setters to pollute
let inputsHead = 0;
let inputsTail = 0;
let consumed = 0;
let items = "";
let busy = false; // an input is being worked off
let flushing = false; // the macrotask that ends the turn is on its way
let nativeWork = 0; // native operations in flight that belong to this turn
let now = 0;

/** Add one item to the turn; `text` is a JSON object. */
function record(text) {
  items = items === "" ? text : items + "," + text;
  if (items.length > PART_LENGTH) sendItems(busy ? consumed - 1 : consumed);
  endTurnSoon();
}

function endTurnSoon() {
  if (flushing || nativeWork > 0) return;
  flushing = true;
  macrotask(endTurn);
}

function endTurn() {
  flushing = false;
  if (nativeWork > 0) return; // its completion comes here again
  sendItems(consumed);
  busy = false;
  nextInput();
}

function sendItems(worked) {
  const text = '{"consumed":' + worked + ',"items":[' + items + "]}";
  items = "";
  send(text);
}

function send(text) {
  if (guards.privatePort) sendOverPort(port, stamp + text);
  else sendOverWorker(stamp + text);
}

function nextInput() {
  if (busy || flushing || inputsHead === inputsTail) return;
  const input = inputs[inputsHead];
  delete inputs[inputsHead++];
  busy = true;
  consumed++;
  now = input.nowMs;
  if (input.type === "start") start(input);
  else if (input.type === "deliver") deliver(input);
  else fire(input.timer);
  endTurnSoon();
}

/** Keep the turn open until a native operation is done; operations end in order of start. */
let lastWork = construct(NativePromise, [(resolve) => resolve()]);
function withinTurn(operation) {
  const own = operation();
  nativeWork++;
  const done = () => {
    nativeWork--;
    endTurnSoon();
  };
  const before = lastWork;
  return construct(NativePromise, [
    (resolve, reject) => {
      const settle = () =>
        then(
          own,
          (value) => (resolve(value), done()),
          (error) => (reject(error), done()),
        );
      lastWork = then(before, settle);
    },
  ]);
}

// --- calls ---------------------------------------------------------------------------------

const waiting = { __proto__: null }; // call number -> {resolve, reject}
let calls = 0;

/** A failed call, as the program sees it. */
class ToolError extends Error {
  #genuine = true;
  tool; // declared, because an assignment alone would ask the prototypes for setters
  code;
  data;
  constructor(message, facts = {}) {
    super(message);
    this.tool = facts.tool;
    this.code = facts.code;
    this.data = facts.data;
  }
  static {
    defineProperty(this.prototype, "name", {
      value: "ToolError",
      writable: true,
      configurable: true,
    });
  }
  static isGenuine(value) {
    return #genuine in value;
  }
}
const isToolError = ToolError.isGenuine;
deleteProperty(ToolError, "isGenuine");

function issue(server, tool, site, argument) {
  const text = argument === undefined ? "{}" : stringify(argument);
  const where = server + "." + tool;
  if (text === undefined) {
    throw new NativeTypeError(`the arguments of ${where} must be JSON, not a ${typeof argument}`);
  }
  if (text.length > limits.arguments) {
    throw new NativeRangeError(
      `the arguments of ${where} are ${text.length} characters, more than ${limits.arguments}`,
    );
  }
  if (calls >= limits.calls) {
    throw new NativeRangeError(`more than ${limits.calls} calls in one run (calls_per_run)`);
  }
  const item =
    '{"type":"issue","call":' + calls + ',"site":' + stringify(site) +
    ',"server":' + stringify(server) + ',"tool":' + stringify(tool) +
    ',"arguments":' + stringify(text) + "}";
  const entry = { __proto__: null, issued: new NativeError() };
  const promise = construct(NativePromise, [
    (resolve, reject) => {
      entry.resolve = resolve;
      entry.reject = reject;
    },
  ]);
  waiting[calls++] = entry;
  record(item);
  return promise;
}

function deliver(input) {
  const entry = waiting[input.call];
  if (entry === undefined) return;
  delete waiting[input.call];
  if (hasOwn(input, "code")) {
    const facts = { __proto__: null, tool: input.tool, code: input.code, data: input.data };
    facts.data = hasOwn(input, "data") ? input.data : undefined;
    const error = new ToolError(hasOwn(input, "message") ? input.message : input.code, facts);
    showCall(error, entry.issued);
    entry.reject(error);
  } else {
    entry.resolve(hasOwn(input, "value") ? input.value : null);
  }
}

/** Let the error's stack lead to the call that failed instead of to its delivery. */
function showCall(error, issued) {
  const trace = attempt(() => issued.stack, "");
  const line = lastIndexOf(slice(trace, 0, indexOf(trace, moduleUrl) + 1), "\n");
  const stack = `ToolError: ${error.message}` + (line < 0 ? "" : slice(trace, line));
  defineProperty(error, "stack", { __proto__: null, value: stack, writable: true });
}

function makeTool(server, tool, site) {
  const call = (argument) => issue(server, tool, site, argument);
  defineProperty(call, "name", { __proto__: null, value: tool, configurable: true });
  mapSet(toolsOf, call, freeze({ __proto__: null, server, tool }));
  return call;
}

/** `then` and symbols are no tools, so that proxies can be awaited and printed. */
const isToolName = (key) => typeof key === "string" && key !== "then" && key !== "toJSON";

function makeServer(server) {
  const get = (_target, key) => {
    if (!isToolName(key)) return undefined;
    const mark = lastIndexOf(key, SITE_MARK);
    if (mark < 0) return makeTool(server, key, WITHOUT_SITE);
    return makeTool(server, slice(key, 0, mark), slice(key, mark + 1));
  };
  return new NativeProxy(freeze({ __proto__: null }), { __proto__: null, get });
}

const servers = { __proto__: null };
const mcp = new NativeProxy(freeze({ __proto__: null }), {
  __proto__: null,
  get: (_target, key) =>
    isToolName(key) ? (servers[key] ??= makeServer(key)) : undefined,
});

const capabilities = new NativeProxy(freeze({ __proto__: null }), {
  __proto__: null,
  get: (_target, key) => {
    if (!isToolName(key)) return undefined;
    const mark = lastIndexOf(key, SITE_MARK);
    const name = mark < 0 ? key : slice(key, 0, mark);
    return () =>
      construct(NativePromise, [
        (_resolve, reject) =>
          reject(new NativeError(`capabilities.${name}: no capability can be called by code yet`)),
      ]);
  },
});

// --- probes: what the spliced code calls ---------------------------------------------------

const openSwitches = { __proto__: null };
const decided = (site, outcome) =>
  record('{"type":"decide","site":' + stringify(site) + ',"outcome":' + stringify(outcome) + "}");

const makeProbes = (args) =>
  freeze({
    __proto__: null,
    decide(site, value) {
      decided(site, value ? "true" : "false");
      return value;
    },
    present(site, value) {
      decided(site, value === null || value === undefined ? "false" : "true");
      return value;
    },
    choose(site, value) {
      openSwitches[site] = true;
      return value;
    },
    /** Of a switch only the first label counts: later ones are fallen through to. */
    took(site, outcome) {
      if (outcome !== "ok" && outcome !== "catch") {
        if (!openSwitches[site]) return;
        openSwitches[site] = false;
      }
      decided(site, outcome);
    },
    reach(site, value) {
      record('{"type":"reach","site":' + stringify(site) + "}");
      return value;
    },
    arg: (name, value) => (hasOwn(args, name) ? args[name] : value),
    at(site, value) {
      const tool = typeof value === "function" ? mapGet(toolsOf, value) : undefined;
      return tool === undefined ? value : makeTool(tool.server, tool.tool, site);
    },
    atMember(site, object, key) {
      const value = object[key];
      if (typeof value !== "function") return value;
      const tool = mapGet(toolsOf, value);
      if (tool !== undefined) return makeTool(tool.server, tool.tool, site);
      return (...rest) => apply(value, object, rest);
    },
  });

// --- the program ---------------------------------------------------------------------------

const HEAD_END = "=> {;"; // end of the head that pml/runtime/sandbox/module.py puts first
let moduleUrl = "";
let headLength = 0;
let settled = false;

function start(input) {
  seedRandom(input.seed);
  startedAt = now;
  headLength = indexOf(input.module, HEAD_END) + HEAD_END.length;
  settled = false;
  const args = parse(input.arguments);
  const source = construct(NativeBlob, [[input.module], { type: "application/typescript" }]);
  moduleUrl = makeUrl(source);
  nativeWork++; // importing is not over when this macrotask is
  then(
    import(moduleUrl),
    (module) => {
      nativeWork--;
      endTurnSoon();
      run(module.default, args);
    },
    (error) => {
      nativeWork--;
      settle(describeImportError(error));
    },
  );
}

function run(program, args) {
  try {
    const result = apply(program, undefined, [mcp, capabilities, args, makeProbes(args), args]);
    then(
      result,
      (value) => settle(describeResult(value)),
      (error) => settle(describeError(error)),
    );
  } catch (error) {
    settle(describeError(error));
  }
}

function settle(item) {
  if (settled) return;
  settled = true;
  record(item);
}

const threw = (name, message, more) =>
  '{"type":"throw","name":' + stringify(name) + ',"message":' + stringify(message) + more + "}";

/** Where in the source, as the rest of a JSON object; nothing where the text does not say. */
function position(text) {
  const at = indexOf(text, moduleUrl + ":");
  if (at < 0) return "";
  const found = exec(/^:(\d+):(\d+)/, slice(text, at + moduleUrl.length));
  if (found === null) return "";
  const line = +found[1];
  const column = line === 1 ? +found[2] - headLength : +found[2];
  return ',"line":' + line + ',"column":' + (column > 0 ? column : 1);
}

/** Read what the program may have put a trap under. */
function attempt(read, otherwise) {
  try {
    return toText(read());
  } catch {
    return otherwise;
  }
}

function describeError(error) {
  if ((typeof error !== "object" && typeof error !== "function") || error === null) {
    return threw("Error", attempt(() => error, "a value that is no text"), "");
  }
  const name = attempt(() => error.name ?? "Error", "Error");
  const message = attempt(() => error.message ?? stringify(error), "an error without a message");
  let more = position(attempt(() => error.stack, ""));
  if (isToolError(error)) {
    if (typeof error.tool === "string") more += ',"tool":' + stringify(error.tool);
    if (typeof error.code === "string") more += ',"code":' + stringify(error.code);
  }
  return threw(name, message, more);
}

/** Errors of the TypeScript parser arrive as `TypeError: SyntaxError: ...` with a picture. */
function describeImportError(error) {
  const message = attempt(() => error.message, "the module cannot be loaded");
  const where = position(message) || position(attempt(() => error.stack, ""));
  const parsed = exec(/^(?:SyntaxError|The module's source code could not be parsed): ?(.*)/, message);
  if (parsed !== null) return threw("SyntaxError", parsed[1], where);
  const at = indexOf(message, " at " + moduleUrl);
  const name = attempt(() => error.name, "Error");
  return threw(name, at < 0 ? message : slice(message, 0, at), where);
}

const HINTS = {
  __proto__: null,
  function: "leave it out or return what it computes",
  symbol: "convert it with String(...)",
  bigint: "convert it with String(...) or Number(...)",
};

/** The result as an item: its JSON text, or why and where it is no JSON. */
function describeResult(value) {
  if (value === undefined) return '{"type":"return","value":"null"}';
  const open = { __proto__: null }; // the objects from the root to the current value
  const names = { __proto__: null };
  let depth = 0;
  let lossy = "";
  let problem = "";
  const path = (length, key) => {
    let text = "$";
    for (let i = 2; i <= length; i++) text += "." + names[i];
    return length === 0 ? text : text + "." + key;
  };
  const check = function (key, member) {
    while (depth > 0 && open[depth] !== this) depth--;
    const kind = typeof member;
    if (HINTS[kind] !== undefined) {
      problem = `${path(depth, key)} is a ${kind}: ${HINTS[kind]}`;
      throw problem;
    }
    if (kind === "number" && !isFiniteNumber(member)) {
      lossy += (lossy === "" ? "" : ",") + stringify(path(depth, key));
    } else if (kind === "object" && member !== null) {
      for (let i = 1; i <= depth; i++) {
        if (open[i] !== member) continue;
        problem = `${path(depth, key)} contains itself: leave the reference out`;
        throw problem;
      }
      open[++depth] = member;
      names[depth] = key;
    }
    return member;
  };
  let text;
  try {
    text = stringify(value, check);
  } catch (error) {
    const message = problem || attempt(() => error.message, "it cannot be converted");
    return threw("TypeError", `the result is no JSON: ${message}`, ',"code":"not_json"');
  }
  if (text === undefined) return '{"type":"return","value":"null"}';
  if (text.length > limits.result) {
    const message = `the result is ${text.length} characters, more than ${limits.result}: return less`;
    return threw("RangeError", message, ',"code":"too_large"');
  }
  const more = lossy === "" ? "" : ',"lossy":[' + lossy + "]";
  return '{"type":"return","value":' + stringify(text) + more + "}";
}

// --- time ----------------------------------------------------------------------------------

const timers = { __proto__: null };
let timerCount = 0;
let startedAt = 0;

function setTimer(callback, delay, rest, repeat) {
  if (typeof callback !== "function") {
    throw new NativeTypeError("a timer needs a function");
  }
  if (timerCount >= limits.timers) {
    throw new NativeRangeError(`more than ${limits.timers} timers in one run (timers_per_run)`);
  }
  const ms = +(delay ?? 0);
  const delayMs = ms > 0 && ms <= MAX_DELAY_MS ? ms : 0;
  const id = ++timerCount;
  timers[id] = { __proto__: null, callback, rest, repeat, delayMs };
  recordTimer(id, delayMs);
  return id;
}

const recordTimer = (id, delayMs) =>
  record('{"type":"timer","timer":' + id + ',"delayMs":' + delayMs + "}");

function clearTimer(id) {
  const key = typeof id === "number" ? id : attempt(() => id, "");
  if (timers[key] === undefined) return;
  delete timers[key];
  record('{"type":"clear","timer":' + key + "}");
}

function fire(id) {
  const timer = timers[id];
  if (timer === undefined) return;
  if (!timer.repeat) delete timers[id];
  try {
    apply(timer.callback, globalThis, timer.rest);
  } catch (error) {
    recordRejection(error);
  }
  if (timer.repeat && timers[id] === timer) recordTimer(id, timer.delayMs);
}

function recordRejection(error) {
  const isObject = typeof error === "object" && error !== null;
  const name = isObject ? attempt(() => error.name ?? "Error", "Error") : "Error";
  const message = attempt(() => (isObject ? error.message ?? "" : error), "");
  record('{"type":"rejection","message":' + stringify(name + ": " + message) + "}");
}

/** Put the run's clock and timers in place of the machine's. */
function installTime() {
  function Date(...parts) {
    if (new.target === undefined) return toText(construct(NativeDate, [now]));
    return construct(NativeDate, parts.length === 0 ? [now] : parts, new.target);
  }
  defineProperty(Date, "prototype", { value: NativeDate.prototype, writable: false });
  defineProperty(Date, "length", { value: 7, configurable: true });
  define(Date, { now: () => now, parse: NativeDate.parse, UTC: NativeDate.UTC });
  define(NativeDate.prototype, { constructor: Date });
  const clock = { __proto__: Object.prototype };
  define(clock, { now: () => now - startedAt });
  defineProperty(clock, "timeOrigin", { get: () => startedAt, configurable: true });
  define(globalThis, {
    Date,
    performance: clock,
    setTimeout: (callback, delay, ...rest) => setTimer(callback, delay, rest, false),
    setInterval: (callback, delay, ...rest) => setTimer(callback, delay, rest, true),
    clearTimeout: (id) => clearTimer(id),
    clearInterval: (id) => clearTimer(id),
  });
  installAbortTimeout();
  installCalendar();
}

function installAbortTimeout() {
  const NativeController = AbortController;
  const NativeDomException = DOMException;
  const signalOf = getter(AbortController.prototype, "signal");
  const abort = uncurry(AbortController.prototype.abort);
  define(AbortSignal, {
    timeout(delay) {
      const controller = new NativeController();
      const expire = () =>
        abort(controller, new NativeDomException("Signal timed out.", "TimeoutError"));
      setTimer(expire, delay, [], false);
      return signalOf(controller);
    },
  });
}

/** `Intl` and `Temporal` read the machine's clock where they are given no date. */
function installCalendar() {
  const prototype = Intl.DateTimeFormat.prototype;
  const formatOf = getter(prototype, "format");
  const toParts = uncurry(prototype.formatToParts);
  defineProperty(prototype, "format", {
    get() {
      const format = formatOf(this);
      return (date) => format(date === undefined ? now : date);
    },
    configurable: true,
  });
  define(prototype, {
    formatToParts(date) {
      return toParts(this, date === undefined ? now : date);
    },
  });
  if (typeof Temporal === "undefined") return;
  const makeInstant = Temporal.Instant.fromEpochMilliseconds;
  const toZone = uncurry(Temporal.Instant.prototype.toZonedDateTimeISO);
  const { ZonedDateTime } = Temporal;
  const inZone = (zone) => toZone(makeInstant(now), zone ?? "UTC");
  const part = (name) => {
    const method = uncurry(ZonedDateTime.prototype[name]);
    return (zone) => method(inZone(zone));
  };
  define(Temporal.Now, {
    instant: () => makeInstant(now),
    zonedDateTimeISO: inZone,
    plainDateTimeISO: part("toPlainDateTime"),
    plainDateISO: part("toPlainDate"),
    plainTimeISO: part("toPlainTime"),
    timeZoneId: () => "UTC",
  });
}

// --- chance --------------------------------------------------------------------------------

// sfc32 (C. Doty-Humphrey, PractRand): 128 bits of state, passes BigCrush, four additions a draw.
let [s0, s1, s2, s3] = [0, 0, 0, 1];

function draw32() {
  const t = (((s0 + s1) | 0) + s3) | 0;
  s3 = (s3 + 1) | 0;
  s0 = s1 ^ (s1 >>> 9);
  s1 = (s2 + (s2 << 3)) | 0;
  s2 = ((s2 << 21) | (s2 >>> 11)) + t;
  s2 |= 0;
  return t >>> 0;
}

function seedRandom(seed) {
  s0 = seed | 0;
  s1 = floor(seed / 4294967296) | 0;
  s2 = imul(s0 ^ 0x9e3779b9, 0x85ebca6b);
  s3 = 1;
  for (let i = 0; i < 15; i++) draw32();
}

function installChance() {
  const random = () => (draw32() * 2097152 + (draw32() >>> 11)) / 9007199254740992; // 53 bits
  define(Math, { random });
  const typedArray = getPrototypeOf(NativeUint8Array.prototype);
  const bufferOf = getter(typedArray, "buffer");
  const offsetOf = getter(typedArray, "byteOffset");
  const lengthOf = getter(typedArray, "byteLength");
  const NativeDomException = DOMException;
  const replacement = {
    getRandomValues(array) {
      if (!isView(array)) throw new NativeTypeError("getRandomValues needs an integer array");
      const length = lengthOf(array);
      if (length > 65536) {
        throw new NativeDomException("more than 65536 bytes", "QuotaExceededError");
      }
      const bytes = new NativeUint8Array(bufferOf(array), offsetOf(array), length);
      for (let i = 0; i < length; i++) bytes[i] = draw32() >>> 24;
      return array;
    },
    randomUUID() {
      const hex = (value, digits) => padStart(numberToString(value, 16), digits, "0");
      const [a, b, c, d] = [draw32(), draw32(), draw32(), draw32()];
      const version = 0x4000 | (b & 0x0fff);
      const variant = 0x8000 | (c & 0x3fff);
      return `${hex(a, 8)}-${hex(b >>> 16, 4)}-${hex(version, 4)}-${hex(variant, 4)}-` +
        hex(c >>> 16, 4) + hex(d, 8);
    },
    subtle: makeSubtle(crypto.subtle),
  };
  define(globalThis, { crypto: replacement });
}

/** The operations of Web Crypto whose outcome follows from their input. */
function makeSubtle(native) {
  const names = [
    "decrypt", "deriveBits", "deriveKey", "digest", "encrypt", "exportKey", "importKey", "sign",
    "verify",
  ];
  const subtle = { __proto__: Object.prototype };
  for (const name of names) {
    const operation = native[name];
    define(subtle, {
      [name]: (...rest) => withinTurn(() => apply(operation, native, rest)),
    });
  }
  return subtle;
}

// --- boot: everything below runs before the program exists ----------------------------------

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
  stringify = (value, check) => JSON.stringify(value, check);
  then = (promise, onValue, onError) => promise.then(onValue, onError);
}

/**
 * Imported and run while the process waits: the first import of TypeScript costs 3 to 4 ms, and
 * less than a tenth later, the more so the more of the language the first one used.
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
