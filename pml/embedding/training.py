"""Training of the static encoder by contrast.

InfoNCE (A. van den Oord et al.: Representation Learning with Contrastive Predictive Coding,
arXiv:1807.03748, eq. 4) over the cosines of a batch: each anchor has to find its target among
all targets of the batch and some hard negatives of each, each target its anchor.  The loss is
the mean over prefixes of the vector (A. Kusupati et al.: Matryoshka Representation Learning,
NeurIPS 2022, arXiv:2205.13147), so that a shorter vector is a model too.  Targets about the
same thing are not each other's negatives.

One thread and one seed: the same corpus gives the same weights to the bit on one machine.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import torch
from jaxtyping import Bool, Float, Float32, Int64
from tokenizers import Tokenizer
from torch import Tensor
from torch.nn import functional

from pml.embedding.bags import Bags, embed
from pml.embedding.initialising import initial_rows
from pml.embedding.pairs import Corpus, Pairs, pairs_of
from pml.embedding.tokenizing import UNKNOWN, train_tokenizer

_BLOCK = 512
"""Anchors whose cosines with a pool are held at once."""


@dataclass(frozen=True, slots=True, kw_only=True)
class EncoderConfig:
    """How the static encoder is trained."""

    vocabulary: int = 16_384
    """Tokens at most."""
    least_count: int = 2
    """Pieces that come together less often stay apart."""
    dimension: int = 256
    prefixes: tuple[int, ...] = (64, 128, 256)
    """Lengths of vectors that are trained; the longest is ``dimension``."""
    epochs: int = 4
    batch: int = 512
    """Pairs."""
    learning_rate: float = 0.02
    temperature: float = 0.05
    """What cosines are divided by."""
    dropout: float = 0.1
    """Share of an anchor's tokens left out each time."""
    hard_negatives: int = 1
    """By pair and batch, drawn from the ``nearest``."""
    nearest: int = 20
    """Targets most like an anchor that are not about the same thing."""
    pool: int = 4_096
    """Targets among which the nearest are looked for, drawn anew each epoch."""
    random_share: float = 0.2
    """Of the initial rows (`pml.embedding.initialising`)."""
    mixtures: int = 10_000
    """Made requests for several tools."""
    requests: int = 10
    """How often each real request counts, of which there are few."""

    def __post_init__(self) -> None:
        """Refuse what cannot be trained.

        Raises:
            ValueError: a prefix is longer than the vector, or a number is out of its range.
        """
        if not self.prefixes or max(self.prefixes) != self.dimension or min(self.prefixes) < 1:
            message = f"prefixes {self.prefixes} have to end with the dimension {self.dimension}"
            raise ValueError(message)
        if not (0 <= self.dropout < 1 and 0 <= self.random_share <= 1 and self.temperature > 0):
            message = "dropout has to be in [0, 1), random_share in [0, 1], temperature above 0"
            raise ValueError(message)
        for name in ("vocabulary", "least_count", "epochs", "batch", "nearest", "pool", "requests"):
            if getattr(self, name) < 1:
                message = f"{name}: expected 1 or more, got {getattr(self, name)}"
                raise ValueError(message)
        if not self.learning_rate > 0 or min(self.hard_negatives, self.mixtures) < 0:
            message = "learning_rate has to be above 0, hard_negatives and mixtures 0 or more"
            raise ValueError(message)


@dataclass(frozen=True, slots=True, kw_only=True)
class Trained:
    """What training gives."""

    tokenizer: Tokenizer
    rows: Float32[np.ndarray, "tokens dim"]
    """By token; that of unknown words is zero."""


def train_encoder(
    corpus: Corpus,
    config: EncoderConfig,
    *,
    seed: int,
    on_epoch: Callable[[int, float], None] = lambda _epoch, _loss: None,
) -> Trained:
    """Train a tokenizer and its rows from nothing.

    Args:
        corpus: What to learn from.
        config: How.
        seed: Of everything that is drawn.
        on_epoch: Told the number of each epoch and its mean loss.

    Raises:
        ValueError: the corpus has no pair of texts to learn from.
    """
    rng = np.random.default_rng(seed)
    texts = list(corpus.texts())
    tokenizer = train_tokenizer(texts, vocabulary=config.vocabulary, least_count=config.least_count)
    pairs = pairs_of(corpus, rng, mixtures=config.mixtures, requests=config.requests)
    kinds = [_Kind(each, tokenizer) for each in pairs]
    if not kinds:
        message = "the corpus has no pairs of texts; it needs tools with names and descriptions"
        raise ValueError(message)
    size = tokenizer.get_vocab_size()
    tokens = _tokens(tokenizer, texts)
    start = initial_rows(tokens, size, config.dimension, rng, random_share=config.random_share)
    rows = torch.from_numpy(start).requires_grad_()
    optimizer = torch.optim.Adam([rows], lr=config.learning_rate)
    steps = config.epochs * sum(-(-len(kind) // config.batch) for kind in kinds)
    schedule = torch.optim.lr_scheduler.LinearLR(optimizer, 1.0, 0.02, total_iters=steps)
    for epoch in range(config.epochs):
        with torch.no_grad():
            for kind in kinds:
                if config.hard_negatives:
                    pool = rng.permutation(len(kind))[: config.pool]
                    kind.mine(rows, pool, config.nearest)
        losses = []
        for kind, chosen in _order(kinds, config.batch, rng):
            loss = _loss(rows, kind, chosen, config, rng)
            optimizer.zero_grad()
            loss.backward()  # type: ignore[no-untyped-call]  # of torch
            optimizer.step()
            schedule.step()
            losses.append(loss.item())
        on_epoch(epoch, float(np.mean(losses)))
    trained = rows.detach().numpy().copy()
    trained[tokenizer.token_to_id(UNKNOWN)] = 0
    return Trained(tokenizer=tokenizer, rows=trained)


class _Kind:
    """Pairs of one kind as tokens, and the hard negatives of each."""

    def __init__(self, pairs: Pairs, tokenizer: Tokenizer) -> None:
        self.name = pairs.kind
        self.anchors = Bags(_tokens(tokenizer, pairs.anchors))
        self.targets = Bags(_tokens(tokenizer, pairs.targets))
        self.owners = _numbers(pairs.owners)
        self.texts = _numbers(pairs.targets)
        self.askers = _numbers(pairs.anchors)
        self.hard = np.zeros((len(self.owners), 0), np.int64)

    def __len__(self) -> int:
        return len(self.owners)

    def mine(self, rows: Tensor, pool: Int64[np.ndarray, " pool"], count: int) -> None:
        """Find the targets of a pool most like each anchor that are about something else."""
        targets = functional.normalize(embed(rows, self.targets.take(pool)), dim=1)
        found = []
        for places in np.array_split(np.arange(len(self)), -(-len(self) // _BLOCK)):
            anchors = functional.normalize(embed(rows, self.anchors.take(places)), dim=1)
            likeness = anchors @ targets.T
            likeness[torch.from_numpy(self.same(places, pool))] = -2
            found.append(pool[likeness.topk(min(count, len(pool)), dim=1).indices.numpy()])
        self.hard = np.concatenate(found)

    def same(
        self, anchors: Int64[np.ndarray, " anchors"], targets: Int64[np.ndarray, " targets"]
    ) -> Bool[np.ndarray, "anchors targets"]:
        """Which targets are right for which anchors too."""
        same: Bool[np.ndarray, "anchors targets"] = np.zeros((len(anchors), len(targets)), bool)
        for numbers in (self.owners, self.texts, self.askers):
            same |= numbers[anchors][:, None] == numbers[targets][None, :]
        return same


def _order(
    kinds: Sequence[_Kind], batch: int, rng: np.random.Generator
) -> Iterator[tuple[_Kind, Int64[np.ndarray, " batch"]]]:
    """The batches of an epoch: every pair once, batches of all kinds mixed."""
    batches = [
        (kind, chosen)
        for kind in kinds
        for chosen in np.array_split(rng.permutation(len(kind)), -(-len(kind) // batch))
    ]
    for place in rng.permutation(len(batches)).tolist():
        yield batches[place]


def _loss(
    rows: Tensor,
    kind: _Kind,
    chosen: Int64[np.ndarray, " batch"],
    config: EncoderConfig,
    rng: np.random.Generator,
) -> Tensor:
    anchors = embed(rows, kind.anchors.take(chosen, dropout=config.dropout, rng=rng))
    offered = chosen
    if kind.hard.shape[1]:
        drawn = rng.integers(kind.hard.shape[1], size=(len(chosen), config.hard_negatives))
        offered = np.concatenate([chosen, kind.hard[chosen[:, None], drawn].ravel()])
    targets = embed(rows, kind.targets.take(offered))
    same = kind.same(chosen, offered)
    same[np.arange(len(chosen)), np.arange(len(chosen))] = False
    return info_nce(anchors, targets, torch.from_numpy(same), config.prefixes, config.temperature)


def info_nce(
    anchors: Float[Tensor, "anchors dim"],
    targets: Float[Tensor, "targets dim"],
    same: Bool[Tensor, "anchors targets"],
    prefixes: Sequence[int],
    temperature: float,
) -> Float[Tensor, ""]:
    """The mean loss over prefixes and both directions; see the head.

    Args:
        anchors: One per pair.
        targets: The first are those of the anchors, in their order; the others hard negatives.
        same: Which targets are no negatives of which anchors; false for an anchor's own.
        prefixes: How many dimensions count, each in turn.
        temperature: What cosines are divided by.
    """
    own = torch.arange(len(anchors))
    losses = []
    for prefix in prefixes:
        left = functional.normalize(anchors[:, :prefix], dim=1)
        right = functional.normalize(targets[:, :prefix], dim=1)
        logits = (left @ right.T / temperature).masked_fill(same, -torch.inf)
        back = logits[:, : len(anchors)].T
        losses += [functional.cross_entropy(logits, own), functional.cross_entropy(back, own)]
    return torch.stack(losses).mean()


def _tokens(tokenizer: Tokenizer, texts: Sequence[str]) -> list[list[int]]:
    encodings = tokenizer.encode_batch_fast(list(texts), add_special_tokens=False)
    return [encoding.ids for encoding in encodings]


def _numbers(texts: Sequence[str]) -> Int64[np.ndarray, " texts"]:
    """Equal texts, equal numbers."""
    known: dict[str, int] = {}
    return np.array([known.setdefault(text, len(known)) for text in texts], np.int64)
