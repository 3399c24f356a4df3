"""An encoder that cannot be had is said so, with what to do (the dense part of MCP-1)."""

import sys

import pytest

from pml.embedding.sentence import load_encoder
from pml.errors import ConfigError


def test_a_missing_package_is_an_error_that_names_the_variable_the_model_and_the_cure(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setitem(sys.modules, "sentence_transformers", None)  # as if not installed
    with pytest.raises(ConfigError) as caught:
        load_encoder("BAAI/bge-m3")
    message = str(caught.value)
    assert "PML_ENCODER" in message
    assert "'BAAI/bge-m3'" in message
    assert "pip install 'pml[encoder]'" in message
