// The program.

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
  const probes = makeProbes(hasOwn(input, "lifted") ? input.lifted : "{}");
  const source = construct(NativeBlob, [[input.module], { type: "application/typescript" }]);
  moduleUrl = makeUrl(source);
  nativeWork++; // importing is not over when this macrotask is
  then(
    import(moduleUrl),
    (module) => {
      nativeWork--;
      endTurnSoon();
      run(module.default, args, probes);
    },
    (error) => {
      nativeWork--;
      settle(describeImportError(error));
    },
  );
}

function run(program, args, probes) {
  try {
    const result = apply(program, undefined, [mcp, capabilities, args, probes, args]);
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

/**
 * Where in the source, as the rest of a JSON object; nothing where the text does not say.
 * `file` is what the text calls the program.
 */
function position(text, file) {
  const at = indexOf(text, file + ":");
  if (at < 0) return "";
  const found = exec(/^:(\d+):(\d+)/, slice(text, at + file.length));
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

const stackPosition = (error) =>
  position(attempt(() => error.stack, ""), guards.determinism ? PROGRAM : moduleUrl);

/** What the engine says of an ArrayBuffer that it cannot have. */
const NO_MEMORY = "Array buffer allocation failed";

function describeError(error) {
  if ((typeof error !== "object" && typeof error !== "function") || error === null) {
    return threw("Error", attempt(() => error, "a value that is no text"), "");
  }
  const name = attempt(() => error.name ?? "Error", "Error");
  let message = attempt(() => error.message ?? stringify(error), "an error without a message");
  if (message === NO_MEMORY) message += ": too much is held outside the heap (data_mb): hold less";
  let more = stackPosition(error);
  if (isToolError(error)) {
    if (typeof error.tool === "string") more += ',"tool":' + stringify(error.tool);
    if (typeof error.code === "string") more += ',"code":' + stringify(error.code);
  }
  return threw(name, message, more);
}

/** Errors of the TypeScript parser arrive as `TypeError: SyntaxError: ...` with a picture. */
function describeImportError(error) {
  const message = attempt(() => error.message, "the module cannot be loaded");
  const where = position(message, moduleUrl) || stackPosition(error);
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
    const message =
      `the result is ${text.length} characters, more than ${limits.result} (result_bytes): ` +
      "return less";
    return threw("RangeError", message, ',"code":"too_large"');
  }
  if (isTooDeep(text)) {
    const message =
      `the result is nested deeper than ${limits.nesting} levels (nesting): return it flatter`;
    return threw("RangeError", message, ',"code":"too_large"');
  }
  const more = lossy === "" ? "" : ',"lossy":[' + lossy + "]";
  return '{"type":"return","value":' + stringify(text) + more + "}";
}
