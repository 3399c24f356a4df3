"""params.yaml: every number that training depends on, checked before anything is computed.

Sections are those of the stages of dvc.yaml, so that DVC runs again what a change concerns, and
nothing else.
"""

import dataclasses
import math
from collections.abc import Mapping
from pathlib import Path
from typing import Any, TypeVar

import msgspec
import yaml

from pml.domain.nearest import did_you_mean
from pml.errors import ConfigError
from pml.tracking.tracked import Scalar

T = TypeVar("T")
SECTIONS = (
    "data",
    "encoder",
    "encoder_training",
    "features",
    "model",
    "train",
    "evaluate",
    "tune",
)
"""What a params.yaml can have."""
_AT = " - at `$."
"""Before the place, in what msgspec says."""


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Parameters:
    """What a params.yaml says, by section."""

    source: str
    """For messages: the file's name."""
    sections: Mapping[str, Mapping[str, Any]]

    def section(self, name: str, kind: type[T]) -> T:
        """A section as a dataclass; what it leaves out has the default of the class.

        Raises:
            ConfigError: it has an unknown key, or a value of another type or out of range.
        """
        given = self.sections.get(name, {})
        known = {field.name for field in dataclasses.fields(kind)}  # type: ignore[arg-type]
        for key, value in given.items():
            if isinstance(value, float) and not math.isfinite(value):
                raise ConfigError(self.source, f"{name}.{key}: expected a number, found {value}")
            if key not in known:
                hint = did_you_mean(key, known) or f"; there are {', '.join(sorted(known))}"
                raise ConfigError(self.source, f"{name}.{key}: there is no such parameter{hint}")
        try:
            return msgspec.convert(dict(given), kind, strict=True)
        except (msgspec.ValidationError, ValueError) as exc:
            said, _, at = str(exc).partition(_AT)
            place = f"{name}.{at.rstrip('`')}" if at else name
            raise ConfigError(self.source, f"{place}: {said}") from exc

    def with_values(self, values: Mapping[str, Scalar]) -> "Parameters":
        """The same with other values, by ``section.key``."""
        sections = {name: dict(section) for name, section in self.sections.items()}
        for path, value in values.items():
            name, _, key = path.partition(".")
            sections.setdefault(name, {})[key] = value
        return dataclasses.replace(self, sections=sections)

    def flat(self, *names: str) -> dict[str, Scalar]:
        """Scalars of some sections by ``section.key``, as a tracking server wants them."""
        return {
            f"{name}.{key}": value if isinstance(value, str | int | float | bool) else str(value)
            for name in names
            for key, value in self.sections.get(name, {}).items()
        }


def least(record: object, **limits: int) -> None:
    """Pass a record whose fields are at least so large.

    Raises:
        ValueError: one is not.
    """
    for name, limit in limits.items():
        if getattr(record, name) < limit:
            msg = f"{name}: expected {limit} or more, got {getattr(record, name)}"
            raise ValueError(msg)


def read_parameters(path: Path) -> Parameters:
    """Read a params.yaml.

    Raises:
        ConfigError: it cannot be read, or is not a mapping of mappings.
    """
    try:
        found = yaml.safe_load(path.read_text(encoding="utf-8"))
    except OSError as exc:
        raise ConfigError(str(path), f"cannot be read: {exc.strerror or exc}") from exc
    except (yaml.YAMLError, UnicodeDecodeError) as exc:
        raise ConfigError(str(path), f"is no YAML: {' '.join(str(exc).split())}") from exc
    return parameters_of(found, str(path))


def parameters_of(found: object, source: str) -> Parameters:
    """Check the form of what a file held.

    Raises:
        ConfigError: it is not a mapping of mappings, or has a section that there is not.
    """
    if not isinstance(found, dict):
        raise ConfigError(source, "expected sections (`train:` ...) with parameters in them")
    for name, section in found.items():
        if not isinstance(section, dict):
            raise ConfigError(source, f"{name}: expected a section with parameters in it")
        if name not in SECTIONS:
            hint = did_you_mean(str(name), SECTIONS) or f"; there are {', '.join(SECTIONS)}"
            raise ConfigError(source, f"{name}: there is no such section{hint}")
        for key in section:
            if not isinstance(key, str):
                raise ConfigError(source, f"{name}.{key}: expected the name of a parameter")
    return Parameters(source=source, sections=found)
