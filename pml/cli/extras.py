"""What only some commands need is not installed with everything; they say how to get it."""

from importlib.util import find_spec

from pml.errors import RequestError

_EVALUATE = ("bm25s", "matplotlib", "polars", "pyarrow", "sklearn")
_MODULES = {
    "evaluate": _EVALUATE,
    "train": (*_EVALUATE, "torch"),
    "research": ("mlflow", "optuna", "sqlalchemy"),
}
"""By the name of the extra in pyproject.toml."""


def check_extra(name: str) -> None:
    """Raise `RequestError` where the extra is not installed; imports nothing."""
    missing = [module for module in _MODULES[name] if find_spec(module) is None]
    if missing:
        message = (
            f"this needs the extra {name!r}, of which {', '.join(missing)} is not installed: "
            f"python -m pip install 'pml[{name}]'"
        )
        raise RequestError(message)
