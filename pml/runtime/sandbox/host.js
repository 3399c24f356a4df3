// The main module of a sandbox process: carries text between a socket and one worker.
//
// It trusts nothing that comes out of the worker.  The protocol runs over a message port that
// only the worker's first code holds, and every message there starts with a stamp that only
// that code knows; whatever else the worker posts is ignored.
// Frames on the socket: four bytes of length (big-endian), then UTF-8 text.

const { port: tcpPort, token, worker: workerSource, options } = JSON.parse(await readAll());

async function readAll() {
  return await new Response(Deno.stdin.readable).text();
}

function startWorker() {
  const url = URL.createObjectURL(new Blob([workerSource], { type: "application/javascript" }));
  const permissions = options.guards.permissions ? "none" : "inherit";
  const worker = new Worker(url, { type: "module", deno: { permissions } });
  worker.onerror = (event) => {
    event.preventDefault();
    console.error(`worker: ${event.message}`);
    Deno.exit(70);
  };
  return worker;
}

/** Writes go out one after the other, each frame whole. */
function makeSender(connection) {
  const encoder = new TextEncoder();
  let last = Promise.resolve();
  const write = async (bytes) => {
    for (let sent = 0; sent < bytes.length; ) sent += await connection.write(bytes.subarray(sent));
  };
  return (text) => {
    const body = encoder.encode(text);
    const frame = new Uint8Array(4 + body.length);
    new DataView(frame.buffer).setUint32(0, body.length);
    frame.set(body, 4);
    last = last.then(() => write(frame)).catch(() => Deno.exit(71));
  };
}

/** Calls `deliver` with the text of each frame until the other side is gone. */
async function readFrames(connection, deliver) {
  const decoder = new TextDecoder();
  let buffer = new Uint8Array(65536);
  let filled = 0;
  for (;;) {
    const count = await connection.read(buffer.subarray(filled));
    if (count === null) return;
    filled += count;
    let start = 0;
    let wanted = 0;
    while (filled - start >= 4) {
      wanted = 4 + new DataView(buffer.buffer, start).getUint32(0);
      if (filled - start < wanted) break;
      deliver(decoder.decode(buffer.subarray(start + 4, start + wanted)));
      start += wanted;
      wanted = 0;
    }
    const grown = Math.max(wanted, 65536) > buffer.length ? new Uint8Array(wanted) : buffer;
    grown.set(buffer.subarray(start, filled));
    buffer = grown;
    filled -= start;
  }
}

const worker = startWorker();
const { port1, port2 } = new MessageChannel();
const connection = await Deno.connect({ hostname: "127.0.0.1", port: tcpPort });
connection.setNoDelay(true);
const send = makeSender(connection);
send(token);
const stamp = options.guards.stamp ? crypto.randomUUID() : "";
const relay = ({ data }) => {
  if (typeof data === "string" && data.startsWith(stamp)) send(data.slice(stamp.length));
  else console.error("a message without the stamp was ignored");
};
port1.onmessage = relay;
if (!options.guards.privatePort) worker.onmessage = relay;
worker.postMessage({ port: port2, stamp, ...options }, [port2]);
await readFrames(connection, (text) => port1.postMessage(text));
Deno.exit(0);
