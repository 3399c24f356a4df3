// Time.

const timers = { __proto__: null };
let timerCount = 0;
let startedAt = 0;

function setTimer(callback, delay, rest, repeat) {
  if (typeof callback !== "function") {
    throw new NativeTypeError("a timer needs a function");
  }
  if (timerCount >= limits.timers) {
    throw new NativeRangeError(
      `more than ${limits.timers} timers in one run (timers_per_run): split the work`,
    );
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
