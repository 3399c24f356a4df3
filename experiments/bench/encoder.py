"""How fast the encoder that PML ships is, against sentence-transformers on the same weights.

Run:  .venv/bin/python experiments/bench/encoder.py [--texts 10000] [--repeats 5]

Texts are made, as long as those of tools.  sentence-transformers (its `StaticEmbedding`, torch)
loads the same folder, so both give the same vectors, which is checked.  The last line is one JSON
object; the ratios are theirs to ours.
"""

import argparse
import json
import subprocess
import sys
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path

import numpy as np

from pml.discovery.ports import Encoder
from pml.embedding import static
from pml.embedding.sentence import load_encoder

FOLDER = Path(static.__file__).parent / "default"
START = "import time; t = time.perf_counter(); {}; print(time.perf_counter() - t)"
OURS = "from pml.embedding.static import default_encoder; default_encoder()"
THEIRS = f"from pml.embedding.sentence import load_encoder; load_encoder({str(FOLDER)!r})"
_WORDS = """
list get create update delete search send read write file message calendar event customer order
weather forecast payment invoice repository issue branch image video translate text city country
address user account token page limit offset query filter date start end identifier name of the
a in for with by to and optional required returned default maximum number string
"""


def made(count: int) -> list[str]:
    """Texts of tools that nobody has: a server, a name, a sentence of 8 to 40 words, parameters."""
    rng = np.random.default_rng(0)
    texts = []
    for _ in range(count):
        drawn = rng.choice(_WORDS.split(), size=int(rng.integers(12, 44))).tolist()
        name, said, parameters = drawn[:3], drawn[3:-4], drawn[-4:]
        texts.append(f"{name[0]}.{'_'.join(name)}: {' '.join(said)}. {' '.join(parameters)}")
    return texts


def seconds(work: Callable[[], object], repeats: int) -> float:
    """The median of several times."""
    taken = []
    for _ in range(repeats):
        start = time.perf_counter()
        work()
        taken.append(time.perf_counter() - start)
    return float(np.median(taken))


def started(code: str) -> float:
    """Imports and loading in a new process, in seconds."""
    command = [sys.executable, "-c", START.format(code)]
    return float(subprocess.check_output(command))  # noqa: S603


def times(encoder: Encoder, texts: list[str], repeats: int) -> tuple[float, float]:
    """Of one text, and of all together."""
    encoder.encode(texts[:100])
    ones = [seconds(partial(encoder.encode, [text]), 3) for text in texts[:200]]
    return float(np.median(ones)), seconds(partial(encoder.encode, texts), repeats)


def main() -> None:
    """See the head."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--texts", type=int, default=10_000)
    parser.add_argument("--repeats", type=int, default=5)
    arguments = parser.parse_args()
    texts = made(arguments.texts)
    ours, theirs = static.default_encoder(), load_encoder(str(FOLDER))
    apart = float(np.abs(ours.encode(texts[:500]) - theirs.encode(texts[:500])).max())
    one, many = times(ours, texts, arguments.repeats)
    start = time.process_time()
    ours.encode(texts)
    cpu = time.process_time() - start
    their_one, their_many = times(theirs, texts, arguments.repeats)
    load, their_load = started(OURS), started(THEIRS)
    print(f"one text: {one * 1e3:.3f} ms, theirs {their_one * 1e3:.3f} ms")
    print(f"{len(texts):,} texts: {many:.2f} s, theirs {their_many:.2f} s")
    print(f"import and load: {load:.2f} s, theirs {their_load:.2f} s")
    figures = {
        "one_text_ms": round(one * 1e3, 4),
        "texts": len(texts),
        "all_texts_s": round(many, 3),
        "all_texts_cpu_s": round(cpu, 3),
        "load_s": round(load, 3),
        "size_mb": round(sum(f.stat().st_size for f in FOLDER.rglob("*")) / 1e6, 2),
        "one_text_ratio": round(their_one / one, 1),
        "all_texts_ratio": round(their_many / many, 2),
        "load_ratio": round(their_load / load, 1),
        "largest_difference": apart,
    }
    print(json.dumps(figures))


if __name__ == "__main__":
    main()
