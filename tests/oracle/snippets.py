"""Tricky programs by hand; they stand in ``snippets.txt``, each under its name."""

from pathlib import Path

from tests.oracle.programs import ARGS
from tests.oracle.scenario import Case


def _read() -> dict[str, str]:
    text = Path(__file__).with_name("snippets.txt").read_text(encoding="utf-8")
    found = {}
    for part in text.split("\n=== ")[1:]:
        name, _, body = part.partition("\n")
        source = body.partition("\n#####")[0].rstrip("\n")
        found[name] = source.replace("\n", "\r\n") if name.startswith("crlf") else source
    return found


SNIPPETS = {
    name: Case(source=source, args=ARGS, parameters=("limit",), seed=3)
    for name, source in _read().items()
}

REFUSED = {"null argument": "bad-argument"}
"""Programs that run natively and that PML refuses before it runs them, and the diagnostic."""
