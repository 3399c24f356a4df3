"""The key of the log (ST-5; design, section 5, rule 8)."""

import base64
import hashlib
import hmac
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pml.errors import ConfigError, LedgerKeyError
from pml.store.ledger_key import LedgerKey

KEY = LedgerKey(bytes(range(32)), "the test")
OTHER = LedgerKey(bytes(32), "another test")


@given(run=st.text(), label=st.text(), plain=st.binary(max_size=200))
def test_what_is_encrypted_comes_back(run: str, label: str, plain: bytes) -> None:
    assert KEY.decrypt(run, label, KEY.encrypt(run, label, plain)) == plain


@given(plain=st.binary(min_size=8, max_size=200))
def test_ciphertext_is_fresh_and_shows_nothing(plain: bytes) -> None:
    first, second = (KEY.encrypt("run", "record 0", plain) for _ in range(2))
    assert first != second
    assert plain not in first


@given(place=st.integers(0, 12 + 5 + 16 - 1), flip=st.integers(1, 255))
def test_an_altered_byte_is_noticed(place: int, flip: int) -> None:
    sealed = bytearray(KEY.encrypt("run", "record 0", b"plain"))
    sealed[place] ^= flip
    with pytest.raises(LedgerKeyError, match="the database was altered"):
        KEY.decrypt("run", "record 0", bytes(sealed))


@pytest.mark.parametrize(
    ("key", "run", "label"),
    [(OTHER, "run", "record 0"), (KEY, "run2", "record 0"), (KEY, "run", "record 1")],
)
def test_a_record_belongs_to_its_key_run_and_place(key: LedgerKey, run: str, label: str) -> None:
    with pytest.raises(LedgerKeyError, match=r"restore the ledger\.key"):
        key.decrypt(run, label, KEY.encrypt("run", "record 0", b"plain"))


def test_something_short_is_no_record() -> None:
    with pytest.raises(LedgerKeyError):
        KEY.decrypt("run", "record 0", b"short")


@given(text=st.text())
def test_the_argument_hash_is_keyed_and_repeats(text: str) -> None:
    assert KEY.hmac(text) == KEY.hmac(text) != OTHER.hmac(text)
    derived = hmac.new(bytes(range(32)), b"hmac", hashlib.sha256).digest()
    assert KEY.hmac(text) == hmac.new(derived, text.encode(), hashlib.sha256).hexdigest()


def test_the_file_is_made_once_for_its_owner_only(tmp_path: Path) -> None:
    data_dir = tmp_path / "data"
    first = LedgerKey.load(data_dir, {})
    assert (data_dir / "ledger.key").stat().st_mode & 0o777 == 0o600
    assert [path.name for path in data_dir.iterdir()] == ["ledger.key"]
    assert LedgerKey.load(data_dir, {}).hmac("a") == first.hmac("a")


def test_processes_that_start_together_agree_on_the_key(tmp_path: Path) -> None:
    script = (
        "import sys; from pathlib import Path; from pml.store.ledger_key import LedgerKey; "
        "print(LedgerKey.load(Path(sys.argv[1]), {}).hmac('a'))"
    )
    command = [sys.executable, "-c", script, str(tmp_path)]
    processes = [subprocess.Popen(command, stdout=subprocess.PIPE) for _ in range(4)]
    said = {process.communicate(timeout=60)[0] for process in processes}
    assert len(said) == 1
    assert len(said.pop().strip()) == 64


def test_the_variable_comes_before_the_file(tmp_path: Path) -> None:
    text = base64.b64encode(bytes(range(32))).decode()
    key = LedgerKey.load(tmp_path, {"PML_LEDGER_KEY": f" {text}\n"})
    assert key.hmac("a") == KEY.hmac("a")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("text", ["no base64!", base64.b64encode(bytes(31)).decode(), "é"])
def test_a_malformed_key_names_its_source(tmp_path: Path, text: str) -> None:
    with pytest.raises(ConfigError, match="PML_LEDGER_KEY: expected base64 of 32 bytes"):
        LedgerKey.load(tmp_path, {"PML_LEDGER_KEY": text})
    (tmp_path / "ledger.key").write_text("short")
    with pytest.raises(ConfigError, match=r"ledger\.key: expected base64 of 32 bytes"):
        LedgerKey.load(tmp_path, {})


def test_a_place_that_holds_no_file_is_explained(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(LedgerKeyError, match=r"cannot be used: .*; or set PML_LEDGER_KEY"):
        LedgerKey.load(tmp_path / "file" / "data", {})
