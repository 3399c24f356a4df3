"""Writes the reference pages that follow from the code: cli.md and limits.md.

Run ``.venv/bin/python docs/reference/generate.py`` after a change to a command or a limit;
a test keeps the committed pages equal to what this writes.
"""

import ast
import inspect
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

from typer.core import TyperGroup
from typer.main import get_command
from typer.testing import CliRunner

from pml.cli.exits import ExitCode
from pml.cli.main import app
from pml.domain import limits
from pml.runtime.limits_file import limit_range

HERE = Path(__file__).parent
NOTICE = "<!-- Written by docs/reference/generate.py: change the code, then run it. -->\n"
COMMANDS = (
    "demo",
    "execute",
    "approve",
    "continue",
    "abort",
    "replan",
    "grants",
    "audit",
    "discover",
    "capabilities",
    "analyse",
    "runs",
    "trace",
    "servers",
    "tools",
    "serve",
    "stdio",
    "client-config",
    "keys",
    "gc",
    "export-traces",
    "import-traces",
    "evaluate",
    "train",
    "tune",
    "package",
    "models",
    "doctor",
    "sandbox-selftest",
)
STREAMS = "Results go to stdout, progress and log to stderr; `--json` prints one JSON value.\n"
ENVIRONMENT = """\
| variable | meaning | default |
|---|---|---|
| `PML_DATA_DIR` | where database and keys live | the user's data folder |
| `PML_DATABASE_URL` | a PostgreSQL server instead of the embedded one | |
| `PML_LEDGER_KEY` | key of the log, base64 of 32 bytes | `ledger.key` in the data folder |
| `PML_USER` | whose runs and capabilities these are | `local` |
| `PML_ENCODER` | encoder beside words: a folder, a model's name, or `none` | PML's own |
| `PML_LIMITS` | a file that sets [limits](limits.md) | `limits.yaml` of the current folder |
| `OTEL_EXPORTER_OTLP_ENDPOINT` | where [spans](tracing.md) go; needs the extra `otel` | |
| `PML_DEPRECATED_TOOLS` | 1 lists the tools that others replaced, for clients that need them | |
| `MLFLOW_TRACKING_URI` | where runs and models are kept | SQLite in the folder `tracking/` |
| `PML_LOG` | from which level on the log shows: `debug`, `info`, `warning`... | `warning` |
"""
LIMITS = """\
What one request, run or sandbox may use. The end of the name is the unit: bytes, ms, s, MB or
characters. Passing a limit ends the call or the run with an error that names it and says what to
do.

`limits.yaml` in the folder where PML starts, or the file that `PML_LIMITS` names, sets them; what
it leaves out keeps its default. A name that is no limit and a value out of its range are errors
with the line.

```yaml
calls_per_run: 500
result_bytes: 2_000_000
call_timeout_s: 20
```
"""


def cli_page() -> str:
    """Every command's help, and the exit codes."""
    parts = [
        "# Commands\n",
        NOTICE,
        STREAMS,
        ENVIRONMENT,
        "## Exit codes\n",
        "| code | name | meaning |\n|---|---|---|\n" + "\n".join(_exit_rows()) + "\n",
    ]
    for path, _ in commands():
        parts.append(f"## pml {' '.join(path)}\n\n```text\n{_help(path)}\n```\n")
    return "\n".join(parts)


def commands() -> Iterator[tuple[tuple[str, ...], str]]:
    """The words that call each command and the end of its help, a group before its commands."""
    top = get_command(app)
    assert isinstance(top, TyperGroup)
    for name in COMMANDS:
        command = top.commands[name]
        yield (name,), command.epilog or ""
        for inner, within in getattr(command, "commands", {}).items():
            yield (name, inner), within.epilog or ""


def _exit_rows() -> list[str]:
    docs = field_docs(ExitCode)
    return [
        f"| {code.value} | {code.name.lower()} | {docs.get(code.name, 'It worked.')} |"
        for code in ExitCode
    ]


def _help(path: Sequence[str]) -> str:
    outcome = CliRunner().invoke(
        app, [*path, "--help"], prog_name="pml", env={"COLUMNS": "80"}, terminal_width=80
    )
    return "\n".join(line.rstrip() for line in outcome.stdout.strip().split("\n"))


def limits_page() -> str:
    """Every limit with its default."""
    docs = field_docs(limits.Limits)
    defaults = limits.Limits()
    rows = [
        f"| `{name}` | {getattr(defaults, name):,} | {_range(name)} | {docs.get(name, '')} |"
        for name in limits.Limits.__struct_fields__
    ]
    return "\n".join(
        [
            "# Limits\n",
            NOTICE,
            LIMITS,
            "| limit | default | range | |\n|---|---|---|---|\n" + "\n".join(rows) + "\n",
        ]
    )


def _range(name: str) -> str:
    low, high = limit_range(name)
    return f"{low:,} to {high:,}"


def field_docs(kind: type) -> dict[str, str]:
    """The text under each field of a class, on one line."""
    (tree,) = ast.parse(inspect.getsource(kind)).body
    assert isinstance(tree, ast.ClassDef)
    found = {}
    for field, text in zip(tree.body, tree.body[1:], strict=False):
        name = _field_name(field)
        if name and isinstance(text, ast.Expr) and isinstance(text.value, ast.Constant):
            found[name] = " ".join(str(text.value.value).split())
    return found


def _field_name(node: ast.stmt) -> str | None:
    match node:
        case ast.AnnAssign(target=ast.Name(id=name)) | ast.Assign(targets=[ast.Name(id=name)]):
            return name
    return None


PAGES = {"cli.md": cli_page, "limits.md": limits_page}

if __name__ == "__main__":
    for name, page in PAGES.items():
        (HERE / name).write_text(page(), encoding="utf-8")
        sys.stderr.write(f"wrote {HERE / name}\n")
