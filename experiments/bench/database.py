"""How long the embedded PostgreSQL makes a user wait: the first time, later, and when it runs.

Run:  .venv/bin/python experiments/bench/database.py
"""

import asyncio
import json
import statistics
import tempfile
import time
from pathlib import Path

from pml.store.database import Database
from pml.store.embedded import EmbeddedPostgres

ROUNDS = 5


def started_s(data_dir: Path) -> float:
    """From nothing to a server that answers; it is stopped again."""
    server = EmbeddedPostgres(data_dir)
    started = time.perf_counter()
    server.start()
    taken = time.perf_counter() - started
    server.close()
    pid_file = server.layout.cluster / "postmaster.pid"
    while pid_file.exists():
        time.sleep(0.01)
    return taken


async def opened_s(data_dir: Path) -> float:
    """A pool with its migrations checked, on a server that runs."""
    started = time.perf_counter()
    async with Database.open(url=None, data_dir=data_dir):
        return time.perf_counter() - started


async def main() -> None:
    """Measure and print; the last line is one JSON object."""
    with tempfile.TemporaryDirectory(prefix="pml-bench-") as folder:
        first = [started_s(Path(folder) / f"new-{number}") for number in range(ROUNDS)]
        data_dir = Path(folder) / "new-0"
        again = [started_s(data_dir) for _ in range(ROUNDS)]
        async with Database.open(url=None, data_dir=data_dir):
            warm = [await opened_s(data_dir) for _ in range(ROUNDS)]
    figures = {"first_start_s": first, "start_s": again, "open_warm_s": warm}
    medians = {name: round(statistics.median(times), 3) for name, times in figures.items()}
    print(f"medians of {ROUNDS}; a first start includes initdb")
    print(
        json.dumps(
            medians
            | {"first_to_later": round(statistics.median(first) / statistics.median(again), 1)}
        )
    )


if __name__ == "__main__":
    asyncio.run(main())
