"""Checks and converts what stands in single cells of a file; errors and notes name the place."""

from collections.abc import Hashable, Sequence
from pathlib import Path
from typing import Any

import msgspec

from pml.errors import DatasetError

_SHOWN_CHARS = 60
_PAIR = 2


class Cells:
    """The cells of one file."""

    def __init__(self, path: Path, notes: list[str]) -> None:
        """``notes`` takes a sentence for whatever is odd and yet no error."""
        self.path = path
        self._notes = notes

    def error(self, message: str, column: str, row: int | None = None) -> DatasetError:
        """An error in this file."""
        return DatasetError(str(self.path), message, column=column, row=row)

    def note(self, message: str, column: str) -> None:
        """Something to know about this file."""
        self._notes.append(f"{self.path.name}, column {column!r}: {message}")

    def check_unique(self, column: str, keys: Sequence[Hashable]) -> None:
        """Raise `DatasetError` where a key comes twice."""
        first: dict[Hashable, int] = {}
        for row, key in enumerate(keys):
            if key in first:
                message = f"expected unique values, found {key!r} again, as in row {first[key]}"
                raise self.error(message, column, row)
            first[key] = row

    def texts(self, column: str, row: int, values: Sequence[str | None]) -> tuple[str, ...]:
        """A list of texts without nulls."""
        if any(value is None for value in values):
            message = "expected a list of texts, found null in it"
            raise self.error(message, column, row)
        return tuple(value for value in values if value is not None)

    def edges(
        self, column: str, row: int, pairs: Sequence[Any], *, n_nodes: int
    ) -> tuple[tuple[int, int], ...]:
        """Pairs of places in ``nodes``, the earlier one first."""
        return tuple(self._edge(column, row, pair, n_nodes) for pair in pairs)

    def _edge(self, column: str, row: int, pair: Any, n_nodes: int) -> tuple[int, int]:  # noqa: ANN401
        if pair is None or len(pair) != _PAIR or None in pair:
            message = f"expected a pair [from, to], found {pair!r}"
            raise self.error(message, column, row)
        start, end = pair
        if not (0 <= start < n_nodes and 0 <= end < n_nodes):
            message = f"expected places in nodes, 0 to {n_nodes - 1}, found {[start, end]}"
            raise self.error(message, column, row)
        if start == end:
            message = f"expected two different places, found {[start, end]}"
            raise self.error(message, column, row)
        if start > end:
            message = (
                f"expected nodes in topological order, so from before to, found {[start, end]}: "
                "order the nodes so that each comes after what feeds it"
            )
            raise self.error(message, column, row)
        return start, end

    def json_objects(
        self, column: str, texts: Sequence[str | None], *, strict: bool
    ) -> list[dict[str, Any] | None]:
        """Each text as a JSON object; None for null, and for what a note tells.

        Sources cut long values, so some other JSON value is a note and counts as none.  Text
        that is no JSON is an error where ``strict``, else a note.  A column without a single
        object is an error: it holds something else.
        """
        objects, odd = [], []
        for row, text in enumerate(texts):
            value = None if text is None else self._json(column, row, text, strict=strict)
            if text is not None and not isinstance(value, dict):
                odd.append(row)
            objects.append(value if isinstance(value, dict) else None)
        if odd:
            self._tell_odd(column, texts, odd)
        return objects

    def _json(self, column: str, row: int, text: str, *, strict: bool) -> object:
        try:
            return msgspec.json.decode(text)
        except (msgspec.DecodeError, RecursionError) as exc:
            if strict:
                message = f"expected a JSON object, found {_shown(text)}: {exc}"
                raise self.error(message, column, row) from exc
            return None

    def _tell_odd(self, column: str, texts: Sequence[str | None], odd: Sequence[int]) -> None:
        given = sum(text is not None for text in texts)
        first = odd[0]
        if len(odd) == given:
            shown = _shown(texts[first])
            message = f"expected JSON objects, found none in {given:,} texts, first {shown}"
            raise self.error(message, column, first)
        self.note(
            f"{len(odd):,} of {given:,} texts are no JSON object and count as missing", column
        )

    def json_or_text(self, text: str | None) -> object:
        """The JSON value that a text holds, else the text itself: heads of answers are cut."""
        if text is None:
            return None
        try:
            return msgspec.json.decode(text)
        except (msgspec.DecodeError, RecursionError):
            return text


def _shown(text: str | None) -> str:
    shown = repr(text)
    return shown if len(shown) <= _SHOWN_CHARS else shown[:_SHOWN_CHARS] + "...'"
