"""A package is what was put in, or an error that says what is wrong with it (LE-7)."""

import dataclasses
import io
import zipfile
from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pml.errors import SavedStateError
from pml.tracking.package import CARD, MANIFEST, MODEL, Package, packed, unpacked
from tests.tracking.packages import a_file, a_package

names = st.text("abc.", min_size=1, max_size=6)


@given(model=st.binary(max_size=99), encoder=st.dictionaries(names, st.binary(max_size=9)))
def test_what_is_packed_comes_out_again_and_equal_packages_are_equal_bytes(
    model: bytes, encoder: dict[str, bytes]
) -> None:
    given_ = a_package()
    package = Package(manifest=given_.manifest, model=model, encoder=encoder, card="#")

    content = packed(package)
    found = unpacked(content)

    assert (found.model, found.encoder, found.card) == (model, encoder, "#")
    assert found.manifest.verdicts == given_.manifest.verdicts
    assert packed(found) == content


@given(st.data())
def test_a_file_with_another_byte_is_refused_or_means_the_same(data: st.DataObject) -> None:
    content = a_file()
    at = data.draw(st.integers(0, len(content) - 1))
    damaged = bytearray(content)
    damaged[at] ^= data.draw(st.integers(1, 255))

    try:
        found = unpacked(bytes(damaged))
    except SavedStateError:
        return
    assert (found.model, found.encoder) == (a_package().model, a_package().encoder)


def test_a_part_that_claims_to_be_compressed_is_refused() -> None:
    """One flipped bit; the parts of a package are stored as they are."""
    never_compressed = b"\xff" * 9
    package = dataclasses.replace(a_package(), model=never_compressed)
    damaged = bytearray(packed(package))
    in_front, at_the_end = damaged.index(MODEL.encode()), damaged.rindex(MODEL.encode())
    for method_at in (in_front - 22, at_the_end - 36):
        damaged[method_at] = zipfile.ZIP_DEFLATED

    with pytest.raises(SavedStateError, match="no whole archive"):
        unpacked(bytes(damaged))


@given(st.integers(0, len(a_file()) - 1))
def test_a_file_that_was_cut_is_refused(length: int) -> None:
    with pytest.raises(SavedStateError, match="no whole archive"):
        unpacked(a_file()[:length])


def changed(change: Callable[[dict[str, bytes]], None]) -> bytes:
    """A package whose archive was written anew with other parts."""
    with zipfile.ZipFile(io.BytesIO(a_file())) as archive:
        parts = {name: archive.read(name) for name in archive.namelist()}
    change(parts)
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        for name, content in parts.items():
            archive.writestr(name, content)
    return buffer.getvalue()


def without(name: str) -> Callable[[dict[str, bytes]], None]:
    return lambda parts: parts.update({}) if parts.pop(name) is None else None


def with_part(name: str, content: bytes) -> Callable[[dict[str, bytes]], None]:
    return lambda parts: parts.update({name: content})


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (without(MANIFEST), "has no manifest.json: expected a file that `pml package` wrote"),
        (without(MODEL), "lacks model.bin"),
        (without(CARD), "lacks card.md"),
        (without("encoder/rows.npz"), "encoder/rows.npz: manifest and archive disagree"),
        (with_part("more", b"x"), "more: manifest and archive disagree"),
        (with_part(MODEL, b"other"), "model.bin is not what the manifest says"),
        (with_part(MANIFEST, b'{"format": 2}'), "is of format 2, this PML reads 1"),
        (with_part(MANIFEST, b"[]"), "is of format None"),
        (with_part(MANIFEST, b'{"format": 1, "name": "x"}'), "damaged manifest.json .*missing"),
        (with_part(MANIFEST, b"\xff"), "damaged manifest.json"),
    ],
)
def test_an_archive_that_is_no_package_is_refused(
    change: Callable[[dict[str, bytes]], None], said: str
) -> None:
    with pytest.raises(SavedStateError, match=said):
        unpacked(changed(change))


def test_a_part_that_comes_twice_is_refused() -> None:
    buffer = io.BytesIO(a_file())
    with zipfile.ZipFile(buffer, "a") as archive, pytest.warns(UserWarning, match="Duplicate"):
        archive.writestr(MODEL, b"other")

    with pytest.raises(SavedStateError, match="holds a part twice"):
        unpacked(buffer.getvalue())
