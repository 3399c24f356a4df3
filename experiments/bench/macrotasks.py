"""Which macrotask ends a turn most cheaply: the reason for `setImmediate` in the worker.

Run:  .venv/bin/python experiments/bench/macrotasks.py
"""

import subprocess
import tempfile
from pathlib import Path

from pml.runtime.sandbox.tier import find_deno

SCRIPT = """
import { setImmediate } from "node:timers";
const ROUNDS = 2000;
const channel = new MessageChannel();
const post = () => new Promise((done) => {
  channel.port1.onmessage = done;
  channel.port2.postMessage(0);
});
const ways = {
  set_immediate_us: () => new Promise((done) => setImmediate(done)),
  message_port_us: post,
  set_timeout_us: () => new Promise((done) => setTimeout(done, 0)),
};
const taken = {};
for (const [name, wait] of Object.entries(ways)) {
  for (let i = 0; i < 200; i++) await wait();
  const started = performance.now();
  for (let i = 0; i < ROUNDS; i++) await wait();
  taken[name] = Number(((performance.now() - started) * 1000 / ROUNDS).toFixed(1));
}
channel.port1.close();
console.log(`microseconds a round, ${ROUNDS} rounds each`);
console.log(JSON.stringify(taken));
"""


def main() -> None:
    """Measure and print; the last line is one JSON object."""
    with tempfile.TemporaryDirectory(prefix="pml-bench-") as folder:
        script = Path(folder) / "macrotasks.js"
        script.write_text(SCRIPT)
        command = [str(find_deno()), "run", "--no-config", "--no-lock", str(script)]
        subprocess.run(command, check=True)  # noqa: S603  # our own script


if __name__ == "__main__":
    main()
