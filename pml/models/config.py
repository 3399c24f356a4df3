r"""Sizes of SHGAT, the names and shapes of its parameters, and the mathematics in one place.

The torch model (`pml.models.shgat`), its dgl layers and the numpy scorer (`pml.models.scorer`) are
three implementations of this page; `parameter_shapes` is what they share.

Node states.  With :math:`x_i` a node's vector, :math:`\kappa` its kind (tools, capabilities) and
:math:`f_i` its id embedding (zero for a node never trained on), and states split into K heads of
``head_dim``:

.. math:: h_i = W_\kappa x_i + f_i

Upwards, for each level from 1 on, in order, a container :math:`e` attends to its members (GATv2;
S. Brody, U. Alon, E. Yahav, ICLR 2022, arXiv:2105.14491), per head:

.. math::
    \alpha_{ie} = \mathrm{softmax}_{i \in e}\; a^\top \mathrm{LeakyReLU}_{0.2}(V h_i + U h_e),\quad
    h_e \leftarrow h_e + g \sum_{i \in e} \alpha_{ie} V h_i

Downwards, from the highest level but one to 0, a member attends to its containers in the same way,
with parameters of its own (``down``).  All levels share parameters, so depth is not bounded.
The gates g (one per head) begin at 0, as in ReZero (T. Bachlechner et al., UAI 2021,
arXiv:2003.04887): training begins with the text alone and lets messages in as far as they help.
A node without members or containers keeps its state.

Score of candidate i for a query with vector :math:`x`, of task t:

.. math::
    s_i = \sum_k \langle q_k, h_{ik} \rangle / \sqrt{d}
          + \sum_f \langle u_f, \tanh(F_{f\kappa} \phi_{fi} + c_{f\kappa}) \rangle
          + \langle a_t + B_t\, m, e_i \rangle + b_t

with :math:`q = Q_t x` (for the next tool plus ``last`` times the state of the last tool called and
``mean`` times the mean state of all of them), d the width of a head, :math:`\phi_{fi}` the node's
features of head f as `pml.features.standardising.Standardiser` makes them (clipped too),
:math:`u_f = A_{ft} x + d_{ft}`, evidence :math:`e_i` and query stats :math:`m`.  Each term is what
its head contributed.  The probability is :math:`\sigma(\text{slope} \cdot s_i +
\text{rivalry} \cdot \log \sum_j e^{s_j} + \text{intercept})`, with j over all candidates,
calibrated on held-back queries.
"""

from collections.abc import Iterator
from dataclasses import dataclass

from pml.models.inputs import CAPABILITY_WIDTHS, TOOL_WIDTHS, FeatureHead, RankingTask


@dataclass(frozen=True, slots=True, kw_only=True)
class ShgatConfig:
    """Sizes of a model.

    Raises:
        ValueError: a size is not positive, or a task or head comes twice.
    """

    dim: int
    """Of the encoder's vectors."""
    heads: int = 4
    head_dim: int = 32
    feature_dim: int = 4
    """Width of each feature head; 0 leaves feature heads out."""
    message_passing: bool = True
    id_embeddings: bool = True
    feature_heads: tuple[FeatureHead, ...] = tuple(FeatureHead)
    tasks: tuple[RankingTask, ...] = tuple(RankingTask)
    evidence: tuple[tuple[RankingTask, tuple[str, ...]], ...] = ()
    """Names of the evidence columns, by task; none where a task is not named."""
    stats: tuple[str, ...] = ()
    """Names of the query stats."""

    def __post_init__(self) -> None:
        for name in ("dim", "heads", "head_dim"):
            if getattr(self, name) < 1:
                msg = f"{name} must be at least 1, got {getattr(self, name)}"
                raise ValueError(msg)
        if self.feature_dim < 0:
            msg = f"feature_dim must be at least 0, got {self.feature_dim}"
            raise ValueError(msg)
        for name, values in (("feature_heads", self.feature_heads), ("tasks", self.tasks)):
            if len(set(values)) != len(values):
                msg = f"{name} must not repeat one, got {', '.join(values)}"
                raise ValueError(msg)

    @property
    def width(self) -> int:
        """Of a node state, all heads together."""
        return self.heads * self.head_dim

    def evidence_of(self, task: RankingTask) -> tuple[str, ...]:
        """Names of the evidence columns of a task."""
        return dict(self.evidence).get(task, ())


def contribution_names(config: ShgatConfig) -> tuple[str, ...]:
    """Names of the terms of a score, in their order; the terms add up to the score."""
    features = map(str, config.feature_heads if config.feature_dim else ())
    attention = (f"attention.{head}" for head in range(config.heads))
    return (*attention, *features, "evidence", "bias")


def parameter_shapes(config: ShgatConfig, *, trained_nodes: int) -> dict[str, tuple[int, ...]]:
    """Shape of every array of a model, by name; those of a trained model's export.

    Args:
        config: Its sizes.
        trained_nodes: Rows of the table of id embeddings.
    """
    return dict(_shapes(config, trained_nodes))


def _shapes(config: ShgatConfig, trained_nodes: int) -> Iterator[tuple[str, tuple[int, ...]]]:
    width, dim = config.width, config.dim
    for kind in ("tools", "capabilities"):
        yield f"project.{kind}.weight", (width, dim)
    if config.id_embeddings:
        yield "id_embedding.weight", (trained_nodes, width)
    if config.message_passing:
        for direction in ("up", "down"):
            yield f"{direction}.source.weight", (width, width)
            yield f"{direction}.target.weight", (width, width)
            yield f"{direction}.score", (config.heads, config.head_dim)
            yield f"{direction}.gate", (config.heads,)
    yield from _feature_shapes(config)
    for task in config.tasks:
        columns = len(config.evidence_of(task))
        yield f"query.{task}.weight", (width, dim)
        if task is RankingTask.NEXT_TOOL:
            yield "last.weight", (width, width)
            yield "mean.weight", (width, width)
        yield f"evidence.{task}.base", (columns,)
        yield f"evidence.{task}.by_stats", (columns, len(config.stats))
        yield f"bias.{task}", (1,)
        yield f"calibration.{task}", (3,)  # slope, rivalry, intercept


def _feature_shapes(config: ShgatConfig) -> Iterator[tuple[str, tuple[int, ...]]]:
    if not config.feature_dim:
        return
    for kind, widths in (("tools", TOOL_WIDTHS), ("capabilities", CAPABILITY_WIDTHS)):
        yield f"standardise.{kind}.mean", (sum(widths.values()),)
        yield f"standardise.{kind}.deviation", (sum(widths.values()),)
        for head in config.feature_heads:
            yield f"features.{head}.{kind}.weight", (config.feature_dim, widths[head])
            yield f"features.{head}.{kind}.bias", (config.feature_dim,)
    for head in config.feature_heads:
        for task in config.tasks:
            yield f"features.{head}.query.{task}.weight", (config.feature_dim, config.dim)
            yield f"features.{head}.query.{task}.bias", (config.feature_dim,)
