"""Words are those of the published baselines, and other scripts work too (MCP-1)."""

import re
import string

from hypothesis import given
from hypothesis import strategies as st

from pml.discovery.words import STOP_WORDS, Words, split

plain_text = st.text(alphabet=string.ascii_letters + string.digits + " _-.天文", max_size=60)


def baseline_words(text: str) -> list[str]:
    """As the published figures were computed."""
    spaced = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", " ", text)
    words = re.findall(r"[a-z0-9]+|[\u4e00-\u9fff]", spaced.lower())
    return [word for word in words if word not in STOP_WORDS]


@given(plain_text)
def test_without_a_stemmer_the_words_of_plain_text_are_those_of_the_baselines(text: str) -> None:
    assert Words(stemmer=None)(text) == baseline_words(text)


def test_identifiers_fall_apart() -> None:
    assert split("readFile read_file read-file") == ["read", "file"] * 3
    assert split("mcp.fs.read2Files") == ["mcp", "fs", "read2", "files"]


def test_inflections_are_one_word_with_a_stemmer_and_several_without() -> None:
    assert len(set(Words()("report reports reported reporting"))) == 1
    assert len(set(Words(stemmer=None)("report reports reported reporting"))) == 4


def test_accents_fold_however_they_are_encoded() -> None:
    assert split("Créer l'été") == split("Cre\u0301er l'e\u0301te\u0301") == ["creer", "l", "ete"]


def test_scripts_without_spaces_count_each_character() -> None:
    assert split("读取文件 file") == ["读", "取", "文", "件", "file"]
    assert split("ファイル") == list("ファイル")


def test_other_scripts_keep_their_words() -> None:
    assert split("Прочитать файл") == ["прочитать", "фаил"]
    assert split("파일 읽기") == ["파일", "읽기"]


def test_negations_and_limits_are_words_that_count() -> None:
    assert Words(stemmer=None)("not without only all") == ["not", "without", "only", "all"]


def test_common_words_alone_are_no_words() -> None:
    assert Words()("can you please help me with the") == []
