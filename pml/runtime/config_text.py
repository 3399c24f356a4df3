"""Files that people write, read so that every complaint can name file and line.

The value comes from the format's own parser; the lines come from YAML's node tree, which
also reads JSON (YAML is a superset once tabs are spaces).  Comments and trailing commas
in JSON are allowed, since VS Code writes and keeps them.
"""

import json
import re
from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Any, NoReturn

import yaml

from pml.domain.nearest import nearest
from pml.errors import ConfigError

_JSON_EXTRAS = re.compile(
    r"""("(?:[^"\\\n]|\\.)*")|//[^\n]*|/\*.*?\*/|,(?=(?:\s|//[^\n]*|/\*.*?\*/)*[}\]])""",
    re.DOTALL,
)
_NOT_NEWLINE = re.compile(r"[^\n]")
_MAX_BYTES = 1_000_000
"""Nobody writes more by hand; a larger file is the wrong file."""


class ConfigText:
    """The value of one file, with the line of each part of it."""

    def __init__(self, source: str, value: Any, root: yaml.Node | None) -> None:  # noqa: ANN401
        self.source = source
        self.value = value
        self._root = root

    def line(self, *path: str | int) -> int | None:
        """The line, from 1, of the key or item at ``path``: the nearest one that exists."""
        node, mark = self._root, None if self._root is None else self._root.start_mark
        for step in path:
            pair = _child(node, step)
            if pair is None:
                break
            node, mark = pair[1], pair[0].start_mark
        return None if mark is None else mark.line + 1

    def fail(self, message: str, *path: str | int) -> NoReturn:
        """Raise the error for the part at ``path``.

        Raises:
            ConfigError: always.
        """
        where = ".".join(str(step) for step in path)
        text = f"{where}: {message}" if where else message
        raise ConfigError(self.source, text, line=self.line(*path))

    def mapping(self, value: object, *path: str | int) -> dict[str, Any]:
        """``value``, which stands at ``path``, if it is a mapping with text keys.

        Raises:
            ConfigError: it is something else.
        """
        if not isinstance(value, dict):
            self.fail(f"expected a mapping, found {_kind(value)}", *path)
        for key in value:
            if not isinstance(key, str):
                self.fail(f"expected text as key, found {key!r}: put it in quotes", *path)
        return value

    def known_keys(self, value: Mapping[str, Any], known: Collection[str], *path: str) -> None:
        """Check the keys of the mapping at ``path``.

        Raises:
            ConfigError: a key is not among ``known``; names the nearest.
        """
        for key in value:
            if key not in known:
                self.fail(f"unknown key; {_suggest(key, known)}", *path, key)

    def choice(self, value: object, choices: Collection[str], *path: str) -> str:
        """``value``, which stands at ``path``, if it is one of ``choices``.

        Raises:
            ConfigError: it is something else; names the nearest.
        """
        if not isinstance(value, str) or value not in choices:
            self.fail(f"found {value!r}; {_suggest(str(value), choices)}", *path)
        return value


def read_json(path: Path) -> ConfigText:
    """Read a JSON file; comments and trailing commas are let pass.

    Raises:
        ConfigError: unreadable, no JSON, or a key given twice.
    """
    source, text = str(path), _JSON_EXTRAS.sub(_blank, _read(path))
    try:
        value = json.loads(text, parse_constant=_no_constant)
    except ValueError as exc:
        line = exc.lineno if isinstance(exc, json.JSONDecodeError) else None
        detail = exc.msg if isinstance(exc, json.JSONDecodeError) else str(exc)
        raise ConfigError(source, f"expected JSON: {detail}", line=line) from exc
    except RecursionError as exc:
        raise ConfigError(source, "expected JSON: nested too deeply") from exc
    return ConfigText(source, value, _compose(source, text.replace("\t", " ")))


def read_yaml(path: Path) -> ConfigText:
    """Read a YAML file.

    Raises:
        ConfigError: unreadable, no YAML, or a key given twice.
    """
    source, text = str(path), _read(path)
    root = _compose(source, text)
    try:
        value = yaml.safe_load(text)
    except yaml.YAMLError as exc:
        raise _no_yaml(source, exc) from exc
    except ValueError as exc:  # such as a date in month 13
        raise ConfigError(source, f"expected YAML: {exc}") from exc
    return ConfigText(source, value, root)


def _read(path: Path) -> str:
    try:
        with path.open("rb") as file:
            data = file.read(_MAX_BYTES + 1)
    except OSError as exc:
        raise ConfigError(str(path), f"cannot be read: {exc.strerror}") from exc
    if len(data) > _MAX_BYTES:
        raise ConfigError(str(path), f"larger than {_MAX_BYTES:,} bytes: is it the right file?")
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as exc:
        line = data[: exc.start].count(b"\n") + 1
        raise ConfigError(str(path), "expected UTF-8 text", line=line) from exc


def _compose(source: str, text: str) -> yaml.Node | None:
    """The node tree.

    Raises:
        ConfigError: the text is no YAML, uses aliases, or gives a key twice.
    """
    try:
        if any(isinstance(event, yaml.AliasEvent) for event in yaml.parse(text, yaml.SafeLoader)):
            raise ConfigError(source, "YAML aliases (*name) are not supported")  # no bombs
        root = yaml.compose(text, Loader=yaml.SafeLoader)
    except yaml.YAMLError as exc:
        raise _no_yaml(source, exc) from exc
    except RecursionError as exc:
        raise ConfigError(source, "expected YAML: nested too deeply") from exc
    _check_unique(source, root)
    return root


def _no_yaml(source: str, exc: yaml.YAMLError) -> ConfigError:
    if not isinstance(exc, yaml.MarkedYAMLError):
        return ConfigError(source, f"expected YAML: {exc}")
    line = None if exc.problem_mark is None else exc.problem_mark.line + 1
    return ConfigError(source, f"expected YAML: {exc.problem}", line=line)


def _check_unique(source: str, root: yaml.Node | None) -> None:
    todo = [root]
    while todo:
        node = todo.pop()
        if isinstance(node, yaml.SequenceNode):
            todo += node.value
        elif isinstance(node, yaml.MappingNode):
            seen: dict[str, int] = {}
            for key, value in node.value:
                line = key.start_mark.line + 1
                if key.value in seen:
                    message = f"the key {key.value!r} is given twice, first in line"
                    raise ConfigError(source, f"{message} {seen[key.value]}", line=line)
                if isinstance(key, yaml.ScalarNode):
                    seen[key.value] = line
                todo.append(value)


def _child(node: yaml.Node | None, step: str | int) -> tuple[yaml.Node, yaml.Node] | None:
    if isinstance(node, yaml.MappingNode):
        return next((pair for pair in node.value if pair[0].value == step), None)
    if isinstance(node, yaml.SequenceNode) and isinstance(step, int) and step < len(node.value):
        return node.value[step], node.value[step]
    return None


def _blank(match: re.Match[str]) -> str:
    return match[1] or _NOT_NEWLINE.sub(" ", match[0])


def _no_constant(name: str) -> NoReturn:
    message = f"{name} is no JSON"
    raise ValueError(message)


def _kind(value: object) -> str:
    names = {type(None): "nothing", list: "a list", str: "text", bool: "a truth value"}
    return names.get(type(value), f"{value!r}")


def _suggest(word: str, known: Collection[str]) -> str:
    near = nearest(word, known)
    expected = f"expected one of: {', '.join(sorted(known))}"
    return f"did you mean {near[0]!r}? ({expected})" if near else expected
