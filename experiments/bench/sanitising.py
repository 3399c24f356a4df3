"""What does looking for secrets cost?  1 MB of several kinds, against reading it as JSON.

The last line is a JSON object.  ``ratio`` is the time of `redact` over that of ``json.loads`` for
the same text, in the same minute on the same machine.

Run:  .venv/bin/python experiments/bench/sanitising.py
"""

import base64
import json
import random
import string
import time
import uuid
from collections.abc import Callable
from typing import Any

from pml.domain.sanitising import redact

_CHARS = 1_000_000
_ROUNDS = 7


def _corpora(rng: random.Random) -> dict[str, Any]:
    words = ["".join(rng.choices(string.ascii_lowercase, k=rng.randint(2, 9))) for _ in range(2000)]
    rows = [
        {"id": str(uuid.UUID(int=rng.getrandbits(128))), "name": rng.choice(words), "size": number}
        for number in range(_CHARS // 82)
    ]
    lines = [
        f"2026-11-22T07:43:{number % 60:02} INFO {' '.join(rng.choices(words, k=8))} {number} ms"
        for number in range(_CHARS // 80)
    ]
    return {
        "prose": [" ".join(rng.choices(words, k=15)) for _ in range(_CHARS // 100)],
        "rows": rows,
        "log_with_tokens": [*lines, *(f"token=ghp_{'aB3' * 12}{n}" for n in range(100))],
        "image": base64.b64encode(rng.randbytes(_CHARS * 3 // 4)).decode(),
    }


def _best_ms(work: Callable[[], object]) -> float:
    times = []
    for _ in range(_ROUNDS):
        started = time.perf_counter()
        work()
        times.append(time.perf_counter() - started)
    return min(times) * 1000


def main() -> None:
    """Measure each kind."""
    found = {}
    for name, value in _corpora(random.Random(1)).items():  # noqa: S311  # no secret
        text = json.dumps(value)
        redact_ms = _best_ms(lambda value=value: redact(value))  # type: ignore[misc]
        read_ms = _best_ms(lambda text=text: json.loads(text))  # type: ignore[misc]
        per_mb = redact_ms * 1_000_000 / len(text)
        found[name] = {"ms_per_mb": round(per_mb, 1), "ratio": round(redact_ms / read_ms, 1)}
        print(f"{name:16} {per_mb:7.1f} ms per MB, {redact_ms / read_ms:6.1f} times reading it")
    print(json.dumps(found))


if __name__ == "__main__":
    main()
