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
/** @typedef {{result: number, arguments: number, nesting: number, calls: number,
 *   timers: number}} Limits */

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
let stringifyAsIs = JSON.stringify;
let then = uncurry(Promise.prototype.then);
const indexOf = uncurry(String.prototype.indexOf);
const lastIndexOf = uncurry(String.prototype.lastIndexOf);
const slice = uncurry(String.prototype.slice);
const padStart = uncurry(String.prototype.padStart);
const numberToString = uncurry(Number.prototype.toString);
const errorToString = uncurry(Error.prototype.toString);
const exec = uncurry(RegExp.prototype.exec);
const toolsOf = new WeakMap();
const symbolIterator = Symbol.iterator;
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
/** Stands where a server would when the code calls a capability. */
const CAPABILITY_SERVER = "capabilities";
/** A turn longer than this goes in parts: all but the last say that the input is not worked off. */
const PART_LENGTH = 1000000;
/** Longest delay of a timer, as in every engine; longer ones fire at once. */
const MAX_DELAY_MS = 2147483647;

/** @type {MessagePort} */ let port;
/** @type {string} */ let stamp; // goes before every message: who finds the port cannot write
/** @type {Guards} */ let guards;
/** @type {Limits} */ let limits;

/**
 * JSON text.  Halves of surrogate pairs, which `JSON.stringify` writes as escapes, become U+FFFD:
 * UTF-8 has no place for them, and encoders everywhere put that in theirs.
 */
function stringify(value, check) {
  const text = stringifyAsIs(value, check);
  if (text === undefined) return text;
  let made = "";
  let done = 0;
  for (let at = indexOf(text, "\\ud"); at >= 0; at = indexOf(text, "\\ud", at + 1)) {
    let first = at; // of the backslashes: an even number before this one leaves it an escape
    while (text[first - 1] === "\\") first--;
    if ((at - first) % 2 === 1) continue;
    made += slice(text, done, at) + "\ufffd";
    done = at + 6;
  }
  return done === 0 ? text : made + slice(text, done);
}

/** Whether arrays and objects of a JSON text stand in each other deeper than the limit. */
function isTooDeep(text) {
  if (text.length <= 2 * limits.nesting) return false;
  let depth = 0;
  let inText = false;
  for (let i = 0; i < text.length; i++) {
    const char = text[i];
    if (inText) {
      if (char === "\\") i++;
      else if (char === '"') inText = false;
    } else if (char === '"') inText = true;
    else if (char === "[" || char === "{") {
      if (++depth > limits.nesting) return true;
    } else if (char === "]" || char === "}") depth--;
  }
  return false;
}
