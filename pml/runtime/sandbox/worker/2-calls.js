// Calls.

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
      `the arguments of ${where} are ${text.length} characters, more than ${limits.arguments} ` +
        "(arguments_bytes): pass less, or in several calls",
    );
  }
  if (isTooDeep(text)) {
    throw new NativeRangeError(
      `the arguments of ${where} are nested deeper than ${limits.nesting} levels (nesting): ` +
        "make them flatter",
    );
  }
  if (calls >= limits.calls) {
    throw new NativeRangeError(
      `more than ${limits.calls} calls in one run (calls_per_run): split the work`,
    );
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
  const program = guards.determinism ? PROGRAM : moduleUrl;
  const line = lastIndexOf(slice(trace, 0, indexOf(trace, program) + 1), "\n");
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

const serversOf = new WeakMap();

function makeServer(server, site = WITHOUT_SITE) {
  const get = (_target, key) => {
    if (!isToolName(key)) return undefined;
    const mark = lastIndexOf(key, SITE_MARK);
    if (mark < 0) return makeTool(server, key, site);
    return makeTool(server, slice(key, 0, mark), slice(key, mark + 1));
  };
  const proxy = new NativeProxy(freeze({ __proto__: null }), { __proto__: null, get });
  mapSet(serversOf, proxy, server);
  return proxy;
}

/** The server as seen from a site; anything else as it is. */
function atServer(site, value) {
  const server = typeof value === "object" && value !== null ? mapGet(serversOf, value) : undefined;
  return server === undefined ? value : makeServer(server, site);
}

const makeRoot = (site) =>
  new NativeProxy(freeze({ __proto__: null }), {
    __proto__: null,
    get: (_target, key) => (isToolName(key) ? atServer(site, mcp[key]) : undefined),
  });

const servers = { __proto__: null };
const mcp = new NativeProxy(freeze({ __proto__: null }), {
  __proto__: null,
  get: (_target, key) =>
    isToolName(key) ? (servers[key] ??= makeServer(key)) : undefined,
});

/** `capabilities.name` and `mcp.capabilities.name` are the same: one server of the name. */
const capabilities = (servers[CAPABILITY_SERVER] = makeServer(CAPABILITY_SERVER));
