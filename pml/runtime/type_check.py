"""What TypeScript says of a program before it runs (SA-7), by `deno check`.

The program is written into a folder of its own as the body of one function, as it will run,
with the declarations behind it.  Deno looks nowhere else: no network, no packages, no
configuration of the user, and an import map that leads every module name nowhere, because types
can name modules too (``import("/a").B``).  A comment that names another file counts at the top
of a module only, where ours stands.
"""

import asyncio
import json
import os
import re
import sys
import tempfile
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from pml.domain.program import Diagnostic, Severity
from pml.errors import SandboxError
from pml.runtime.sandbox.child import Child
from pml.runtime.sandbox.tier import LAUNCHER, find_deno

CODE = "type"
"""Of the diagnostics."""
TIMEOUT_S = 20.0
"""A check takes most of a second; types that describe a computation can take for ever."""
_CPU_S = 30
_DATA_BYTES = 4_000_000_000
_FILE_BYTES = 50_000_000
_HEAP_MB = 768
_OUTPUT_BYTES = 1_000_000
_MESSAGE_CHARS = 500
_TEXT_CHARS = 80
_MODULE = "program.ts"
_STACK = "error: RangeError: Maximum call stack size exceeded"
"""What TypeScript itself says at some thousands of branches in a row."""
_NOWHERE = "file:///proc/pml-no-such-folder/"
_SETTINGS = {
    "compilerOptions": {
        "strict": True,
        "noImplicitAny": True,  # else an empty array could hold nothing; see _LEFT_OUT
        "noImplicitThis": False,
        "useUnknownInCatchVariables": False,
    },
    "imports": dict.fromkeys(("file:///", "http://", "https://"), _NOWHERE),
}
_LEFT_OUT = range(7005, 7058)
"""Messages that a type is missing: agents write parameters without types, and may."""
_LINE_ENDS = re.compile("\r\n|[\n\r\u2028\u2029]")
_BEGINS = re.compile(r"^(?=(?:TS\d+ \[ERROR\]|error): )", re.MULTILINE)
_HEAD = re.compile(r"(?:TS(\d+) \[ERROR\]|error): ")
"""Of what TypeScript says, and of what Deno says before it asks TypeScript."""
_PLACE = re.compile(rf"    at file://.*/{re.escape(_MODULE)}:(\d+):(\d+)")
_REMOTE = re.compile("specifiers? (?:was|were) requested")
_MARKS = re.compile(r"\s*(~+|\^)\s*")


async def type_check(
    source: str,
    *,
    declarations: str,
    variables: Sequence[str],
    timeout_s: float = TIMEOUT_S,
) -> tuple[Diagnostic, ...]:
    """Warnings about the program's types, by place; types are evidence and no proof.

    Args:
        source: a program that analysis accepts, so that its brackets match.
        declarations: of all that it may use; they have to be valid by themselves.
        variables: free names of the program; nothing is known of them.
        timeout_s: after which the check is given up.

    Raises:
        SandboxError: there is no Deno, it does not start, or what it said cannot be understood.
    """
    names = ",".join(variables)
    head = f"export default async ({{{names}}}: any) => {{;"
    with tempfile.TemporaryDirectory(prefix="pml-types-") as folder:
        place = Path(folder)
        (place / "deno.json").write_text(json.dumps(_SETTINGS))
        text = f"{head}{source}\n}};\n{declarations}"
        (place / _MODULE).write_text(text, encoding="utf-8", newline="")
        said = await _checked(place, timeout_s)
    if said is None or said.startswith(_STACK):
        message = (
            "the type check was given up: the program is too large or too intricate for it, "
            f"or it took more than {timeout_s:g} s"
        )
        return (_warning(message, 1, 1),)
    problems = [one for part in _BEGINS.split(said) if (one := _problem(part)) is not None]
    if said.strip() and not problems:
        message = f"the type check failed: {said.strip()[:_MESSAGE_CHARS]}"
        raise SandboxError(message)
    found = _diagnostics(problems, source, len(head))
    return tuple(sorted(found, key=lambda one: (one.line, one.column)))


# The process -----------------------------------------------------------------------------


async def _checked(folder: Path, timeout_s: float) -> str | None:
    """What Deno says against the module; None where it was stopped."""
    said = bytearray()

    def hear(data: bytes) -> None:  # the rest is read so that it can end, and thrown away
        said.extend(data[: _OUTPUT_BYTES - len(said)])

    plan = json.dumps(_plan(folder))
    try:
        child = Child([sys.executable, "-I", "-S", str(LAUNCHER), plan], hear, cwd=folder)
    except OSError as exc:
        message = f"the type check cannot be started: {exc}"
        raise SandboxError(message) from exc
    child.send(b"")
    try:
        await asyncio.wait([child.ended], timeout=timeout_s)
    finally:
        await child.end()
    # it ends with 0 or 1; a signal means that a limit, or we, ended it
    return said.decode("utf-8", "replace") if child.returncode in (0, 1) else None


def _plan(folder: Path) -> dict[str, object]:
    """For the launcher: what is executed, with which environment and limits."""
    arguments = ["deno", "check", "--quiet", "--no-remote", "--no-npm", "--no-lock"]
    arguments += ["--node-modules-dir=none", f"--config={folder / 'deno.json'}"]
    arguments += [f"--v8-flags=--max-old-space-size={_HEAP_MB}", str(folder / _MODULE)]
    limits = {
        "RLIMIT_CORE": 0,
        "RLIMIT_CPU": _CPU_S,
        "RLIMIT_DATA": _DATA_BYTES,
        "RLIMIT_FSIZE": _FILE_BYTES,
    }
    environment = {"DENO_DIR": str(folder / "cache"), "DENO_NO_UPDATE_CHECK": "1"}
    return {
        "deno": str(find_deno()),
        "argv": arguments,
        "env": {**environment, "LANG": "en_US.UTF-8", "NO_COLOR": "1", "HOME": str(folder)},
        "limits": {name: (value, value) for name, value in limits.items()},
        "uid": None,
        "parent": os.getpid(),
    }


# What it said ----------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Problem:
    code: int
    message: str
    line: int
    column: int
    length: int


def _diagnostics(problems: Iterable[_Problem], source: str, head: int) -> Iterator[Diagnostic]:
    starts = [0, *(match.end() for match in _LINE_ENDS.finditer(source))]
    for problem in problems:
        if problem.code in _LEFT_OUT:
            continue
        if problem.line > len(starts):  # what stands behind the program is ours
            yield _warning(f"the declarations of its tools are at fault: {problem.message}", 1, 1)
            continue
        start = starts[problem.line - 1]
        units = problem.column - 1 - (head if problem.line == 1 else 0)
        before = _characters(source[start : start + max(0, units)], units)
        offset = start + before
        text = source[offset : offset + min(problem.length, _TEXT_CHARS)]
        yield _warning(problem.message, problem.line, before + 1, _LINE_ENDS.split(text)[0])


def _problem(part: str) -> _Problem | None:
    """One message: its text, the line of code that it is about, marks below it, the place."""
    lines = part.split("\n")
    head = _HEAD.match(part)
    if head is None:
        return None
    for number, line in enumerate(lines):
        place = _PLACE.fullmatch(line)
        if place is not None:
            marks = _MARKS.fullmatch(lines[number - 1]) if number else None
            text = lines[: number - 2 if marks else number]
            message = " ".join(one.strip() for one in text)
            return _Problem(
                int(head[1] or 0),
                _readable(message.removeprefix(head[0])),
                int(place[1]),
                int(place[2]),
                len(marks[1]) if marks else 0,
            )
    return None


def _readable(message: str) -> str:
    if _NOWHERE in message or _REMOTE.search(message):
        return "a program cannot refer to other modules"
    return message if len(message) <= _MESSAGE_CHARS else message[: _MESSAGE_CHARS - 1] + "…"


def _characters(text: str, units: int) -> int:
    """How many characters the first ``units`` UTF-16 code units of a text are."""
    count = 0
    for char in text:
        if units <= 0:
            break
        units -= len(char.encode("utf-16-le")) // 2
        count += 1
    return count


def _warning(message: str, line: int, column: int, text: str = "") -> Diagnostic:
    return Diagnostic(
        severity=Severity.WARNING, code=CODE, message=message, line=line, column=column, text=text
    )
