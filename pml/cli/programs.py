"""Programs, DAGs and JSON, as the options of a command give them."""

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

if TYPE_CHECKING:
    from pml.domain.dag import ExplicitDag

STDIN = Path("-")


def shown_name(path: Path) -> str:
    """How messages name the file of a program."""
    return "<stdin>" if path == STDIN else str(path)


def read_source(path: Path) -> str:
    """The text of a program, from a file or from stdin.

    Raises:
        ConfigError: it cannot be read, or is not UTF-8.
    """
    from pml.errors import ConfigError

    try:
        data = sys.stdin.buffer.read() if path == STDIN else path.read_bytes()
        return data.decode()
    except OSError as exc:
        raise ConfigError(str(path), f"cannot be read: {exc.strerror}") from exc
    except UnicodeDecodeError as exc:
        raise ConfigError(str(path), "expected UTF-8 text") from exc


def json_object(text: str, option: str = "--args") -> dict[str, Any]:
    """The value of an option.

    Raises:
        BadParameter: it is no JSON object.
    """
    import msgspec

    try:
        return msgspec.json.decode(text, type=dict[str, Any])
    except (msgspec.DecodeError, UnicodeEncodeError, RecursionError) as exc:
        reason = "nested too deeply" if isinstance(exc, RecursionError) else exc
        message = f'{option}: expected one JSON object, such as \'{{"path": "a.txt"}}\': {reason}'
        raise typer.BadParameter(message) from exc


def read_dag(path: Path) -> "ExplicitDag":
    """An explicit DAG, from a file or from stdin.

    Raises:
        ConfigError: it cannot be read, or is none.
    """
    import msgspec

    from pml.domain.dag import read_dag
    from pml.errors import ConfigError, RequestError

    try:
        return read_dag(msgspec.json.decode(read_source(path)))
    except (msgspec.DecodeError, RequestError) as exc:
        raise ConfigError(str(path), f"expected an explicit DAG: {exc}") from exc
    except RecursionError as exc:
        raise ConfigError(str(path), "expected an explicit DAG: nested too deeply") from exc
