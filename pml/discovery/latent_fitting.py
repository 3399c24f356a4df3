"""Fits `pml.discovery.latent.LatentWords` to the texts of a catalogue; needs `pml[evaluate]`.

The factors of the texts' TF-IDF matrix, by N. Halko, P.-G. Martinsson, J. Tropp: Finding Structure
with Randomness, SIAM Review 53(2), 2011 (scikit-learn).  Same texts and seed, same factors.
"""

from collections import Counter
from collections.abc import Mapping, Sequence

import numpy as np
from scipy.sparse import csr_array
from sklearn.preprocessing import normalize
from sklearn.utils.extmath import randomized_svd

from pml.discovery.latent import LatentWords
from pml.discovery.words import Words, with_pairs

DIMENSION = 512
"""Between 256 and 768, of which 768 was better for a linear model on held-back intents; 512
itself was not compared with them."""
LEAST_TEXTS = 2
"""With a word or pair, for it to have a row: what stands in one text tells nothing of others."""
_ITERATIONS = 2


def fit_latent_words(
    texts: Sequence[str], *, dimension: int = DIMENSION, seed: int = 0
) -> LatentWords:
    """Of a catalogue's texts; fewer dimensions where there are not as many words or texts."""
    tokenizer = Words()
    counts = [Counter(with_pairs(tokenizer(text))) for text in texts]
    texts_with = Counter(term for one in counts for term in one)
    kept = {
        term: texts_with[term] for term in sorted(texts_with) if texts_with[term] >= LEAST_TEXTS
    }
    size = min(dimension, len(kept), len(texts))
    if size == 0:
        return LatentWords((), np.zeros((0, 1), np.float32))
    rarity = 1 + np.log((1 + len(texts)) / (1 + np.array(list(kept.values()), np.float64)))
    matrix = normalize(_weighted(counts, kept) * rarity[None, :])
    factors = randomized_svd(matrix, size, n_iter=_ITERATIONS, random_state=seed)[2]
    return LatentWords(tuple(kept), (factors.T * rarity[:, None]).astype(np.float32))


def _weighted(counts: Sequence[Counter[str]], kept: Mapping[str, int]) -> csr_array:
    """Texts by kept terms: 1 + ln of how often a text has the term."""
    number = {term: at for at, term in enumerate(kept)}
    known = [[(number[term], n) for term, n in one.items() if term in number] for one in counts]
    columns = np.array([column for one in known for column, _ in one], np.int64)
    repeats = np.array([n for one in known for _, n in one], np.float64)
    starts = np.cumsum([0, *map(len, known)])
    return csr_array((1 + np.log(repeats), columns, starts), shape=(len(counts), len(kept)))
