// Turns.

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
