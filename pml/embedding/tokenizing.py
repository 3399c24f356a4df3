"""Text to tokens for the static encoder: one pipeline for training and serving.

WordPiece (M. Schuster, K. Nakajima: Japanese and Korean Voice Search, ICASSP 2012) over words
that are cut as search cuts them (`pml.discovery.words`): identifiers fall apart at capitals and
underscores, accents fold, case folds, each Han and kana character is a word.  All of it is
part of the saved tokenizer, so nothing else can tokenise differently.
"""

from collections.abc import Sequence

from tokenizers import Regex, Tokenizer, models, normalizers, pre_tokenizers, trainers

UNKNOWN = "[UNK]"
"""Token of words without any known piece; its vector is zero."""
_UNSPACED = "\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff"  # kana, Han
_LONGEST_WORD = 40
"""Characters; longer ones (keys, hashes, encoded data) mean nothing and are unknown."""


def train_tokenizer(texts: Sequence[str], *, vocabulary: int, least_count: int) -> Tokenizer:
    """Learn pieces of words; the same texts give the same pieces with the same numbers.

    Args:
        texts: What to learn from.
        vocabulary: So many pieces at most, if there are fewer characters.
        least_count: Pairs of pieces that come together less often stay apart.
    """
    learning = _tokenizer(models.WordPiece(unk_token=UNKNOWN))
    trainer = trainers.WordPieceTrainer(
        vocab_size=vocabulary,
        min_frequency=least_count,
        special_tokens=[UNKNOWN, *_continuing(learning, texts)],
        show_progress=False,
    )
    learning.train_from_iterator(texts, trainer)
    return _tokenizer(
        models.WordPiece(
            learning.get_vocab(), unk_token=UNKNOWN, max_input_chars_per_word=_LONGEST_WORD
        )
    )


def _continuing(tokenizer: Tokenizer, texts: Sequence[str]) -> list[str]:
    """Every character as it stands inside a word, in order.

    The trainer would number them in the order of a hash table, which is another one each time, and
    breaks ties between pairs by these numbers.
    """
    normalised = {char for text in texts for char in tokenizer.normalizer.normalize_str(text)}
    return [f"##{char}" for char in sorted(normalised) if char.isalnum()]


def _tokenizer(model: models.Model) -> Tokenizer:
    tokenizer = Tokenizer(model)
    tokenizer.normalizer = normalizers.Sequence(
        [
            normalizers.Replace(Regex("(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z]{2})"), " "),
            normalizers.NFKD(),
            normalizers.StripAccents(),
            normalizers.Lowercase(),
        ]
    )
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence(
        [
            pre_tokenizers.Split(Regex(f"[^\\w]+|_+|[{_UNSPACED}]"), "isolated"),
            pre_tokenizers.Split(Regex("[^\\w]+|_+"), "removed"),
        ]
    )
    return tokenizer
