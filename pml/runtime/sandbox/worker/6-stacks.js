// What stacks of errors say.
//
// The engine would name the object URLs of this process, and frames of the worker that depend on
// how inputs came in.  A program that passes a stack on would then do something else each time
// that it is replayed, and a pause would end it as diverged.  So a stack names the program and
// what the program called of the language, nothing else.

/** What stacks call the program. */
const PROGRAM = "pml:program";

/** Text of one frame; nothing where it is none of the program's. */
function describeFrame(frame) {
  const file = frame.getFileName();
  const text = toText(frame);
  if (file === null || file === undefined) return "\n    at " + text; // of the language itself
  if (file !== moduleUrl) return "";
  const where = PROGRAM + ":" + frame.getLineNumber() + ":" + frame.getColumnNumber();
  const at = lastIndexOf(text, " (");
  if (at >= 0) return "\n    at " + slice(text, 0, at) + " (" + where + ")";
  return "\n    at " + (indexOf(text, "async ") === 0 ? "async " : "") + where;
}

function describeStack(error, frames) {
  let text = attempt(() => errorToString(error), "<error>");
  for (let i = 0; i < frames.length; i++) text += attempt(() => describeFrame(frames[i]), "");
  return text;
}

/** Programs cannot replace it: what the engine hands it would show them the URLs again. */
function installStacks() {
  defineProperty(NativeError, "prepareStackTrace", {
    __proto__: null,
    get: () => describeStack,
    set() {},
  });
}
