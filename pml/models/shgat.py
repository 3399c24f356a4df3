"""SHGAT: attention over the hypergraph of tools and capabilities, and the scores read off it.

`pml.models.config` has the mathematics, docs/explanation/shgat.md the picture.  The one idea: all
that depends on nodes alone is computed once per pass and laid out as one row per candidate, so that
scoring is one matrix product of queries with candidates, plus what retrievers say.

References:
    Brody, Alon, Yahav. How Attentive are Graph Attention Networks? ICLR 2022, arXiv:2105.14491.
    Bai, Zhang, Torr. Hypergraph Convolution and Hypergraph Attention. Pattern Recognition 110,
    2021, arXiv:1901.08150 (attention over an incidence).  We go up through any number of levels
    and down again, where they go from nodes to hyperedges of one level and back.
"""

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn

from pml.models.attention import PairAttention
from pml.models.checked import checked_inputs, checked_queries
from pml.models.config import ShgatConfig
from pml.models.feature_heads import FeatureHeadLayer, Kind, Standardised
from pml.models.hypergraph import Hypergraph
from pml.models.inputs import CAPABILITY_WIDTHS, TOOL_WIDTHS, NodeInputs, Queries, RankingTask
from pml.models.linear import Named, linear
from pml.models.query_terms import Calibration, EvidenceWeights
from pml.models.start import Start
from pml.models.tensors import ABSENT, NodeStates, QueryTensors, View, query_tensors, tensor_of
from pml.models.trained_ids import UNKNOWN, TrainedIds
from pml.models.wiring import Library, passed, wiring


class IdEmbedding(nn.Module):
    """A free vector per node that was trained on; they begin at 0."""

    def __init__(self, trained_nodes: int, width: int) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.zeros(trained_nodes, width))

    def forward(
        self, states: Float[Tensor, "nodes width"], rows: Int[Tensor, " nodes"]
    ) -> Float[Tensor, "nodes width"]:
        """States with the vectors added, where nodes have any."""
        known = (rows != UNKNOWN).nonzero().squeeze(1)
        return states.index_add(0, known, self.weight.index_select(0, rows[known]))


class Shgat(nn.Module):
    """Names and shapes of its state are those of `pml.models.config.parameter_shapes`.

    A `View` is made once per graph, `NodeStates` once per pass, and queries are scored against
    those.
    """

    def __init__(
        self,
        config: ShgatConfig,
        trained: TrainedIds,
        *,
        generator: torch.Generator,
        start: Start | None = None,
        library: Library = "torch",
    ) -> None:
        """Make a model that scores as text search does.

        Args:
            config: Sizes.
            trained: Nodes with an id embedding of their own; other nodes have none.
            generator: Draws what does not begin at a fixed value.
            start: Values before training.
            library: What computes attention.
        """
        super().__init__()
        self.config, self.trained, self._library = config, trained, library
        tasks, heads = config.tasks, config.feature_heads if config.feature_dim else ()
        widths = {"tools": TOOL_WIDTHS, "capabilities": CAPABILITY_WIDTHS}
        self.project: Named[nn.Linear] = Named(
            {kind: linear(config.dim, config.width) for kind in widths}
        )
        if config.id_embeddings:
            self.id_embedding = IdEmbedding(len(trained), config.width)
        if config.message_passing:
            self.up, self.down = PairAttention(config), PairAttention(config)
        if config.feature_dim:
            self.standardise: Named[Standardised] = Named(
                {kind: Standardised(sum(of.values())) for kind, of in widths.items()}
            )
        self.features: Named[FeatureHeadLayer] = Named(
            {head: FeatureHeadLayer(head, config) for head in heads}
        )
        self.query: Named[nn.Linear] = Named(
            {task: linear(config.dim, config.width) for task in tasks}
        )
        if RankingTask.NEXT_TOOL in tasks:
            self.last, self.mean = (linear(config.width, config.width) for _ in range(2))
        self.evidence: Named[EvidenceWeights] = Named(
            {task: EvidenceWeights(config, task) for task in tasks}
        )
        self.bias = nn.ParameterDict({task: nn.Parameter(torch.zeros(1)) for task in tasks})
        self.calibration = Calibration(config)
        self._start(start or Start(), generator)

    @torch.no_grad()
    def _start(self, start: Start, generator: torch.Generator) -> None:
        config = self.config
        axes = start.map(config, generator)
        for of_vectors in (*self.project.values(), *self.query.values()):
            of_vectors.weight.copy_(axes)
        if config.message_passing:
            for attention in (self.up, self.down):
                attention.start()
        for layer in self.features.values():
            layer.start(generator)
        for task, weights in start.evidence.items():
            self.evidence[task].start(weights)

    def standardise_by(self, inputs: NodeInputs) -> None:
        """Take means and deviations of features from these nodes, before training."""
        if self.config.feature_dim:
            self.standardise["tools"].fit(inputs.tool_features)
            self.standardise["capabilities"].fit(inputs.capability_features)

    def view(self, graph: Hypergraph, inputs: NodeInputs) -> View:
        """The graph and its inputs as tensors of this model's device and precision.

        Raises:
            ValueError: sizes do not fit or a value is not finite (`checked_inputs`).
            ConfigError: dgl is to compute attention and cannot (`pml.models.wiring`).
        """
        checked_inputs(self.config, graph, inputs)
        like = self.project["tools"].weight
        return View(
            vectors=tensor_of(inputs.vectors, like=like),
            tool_features=tensor_of(inputs.tool_features, like=like),
            capability_features=tensor_of(inputs.capability_features, like=like),
            rows=torch.from_numpy(self.trained.rows(graph)).to(like.device),
            wiring=wiring(graph, self._library, like.device),
        )

    def query_tensors(
        self,
        task: RankingTask,
        graph: Hypergraph,
        queries: Queries,
        *,
        sampled: int | None = None,
    ) -> QueryTensors:
        """Queries as tensors of this model's device and precision.

        Args:
            task: What is ranked.
            graph: Whose nodes are candidates.
            queries: What is asked.
            sampled: How many candidates the evidence is of; ``None`` for all.

        Raises:
            ValueError: sizes do not fit or a value is not finite (`checked_queries`).
        """
        checked_queries(self.config, task, graph, queries, sampled=sampled)
        return query_tensors(queries, like=self.project["tools"].weight)

    def states(self, view: View) -> NodeStates:
        """One pass: all that depends on nodes alone."""
        tools = len(view.tool_features)
        states = self._projected(view)
        if self.config.message_passing:
            states = passed(states, view.wiring, self.up, self.down)
        return NodeStates(
            tools=self._with_features("tools", states[:tools], view.tool_features),
            capabilities=self._with_features(
                "capabilities", states[tools:], view.capability_features
            ),
        )

    def scores(
        self,
        task: RankingTask,
        states: NodeStates,
        queries: QueryTensors,
        *,
        candidates: Int[Tensor, " candidates"] | None = None,
    ) -> Float[Tensor, "queries candidates"]:
        """Scores before calibration.

        Args:
            task: What is ranked.
            states: Of the nodes.
            queries: What is asked; their evidence is of the candidates that are scored.
            candidates: Places among the task's candidates; ``None`` for all.
        """
        rows = states.of(task)
        if candidates is not None:
            rows = rows.index_select(0, candidates)
        said: Tensor = self.evidence[task](queries.evidence, queries.stats)
        alike = self._query_rows(task, states, queries) @ rows.T
        scores: Tensor = alike + said + self.bias[task]
        return scores

    def contributions(
        self,
        task: RankingTask,
        states: NodeStates,
        queries: QueryTensors,
        *,
        candidates: Int[Tensor, " candidates"] | None = None,
    ) -> Float[Tensor, "terms queries candidates"]:
        """The terms that add up to the scores, in the order of `contribution_names`."""
        rows = states.of(task)
        if candidates is not None:
            rows = rows.index_select(0, candidates)
        asked = self._query_rows(task, states, queries)
        config = self.config
        widths = [config.head_dim] * config.heads + [config.feature_dim] * len(self.features)
        heads = [
            of_query @ of_node.T
            for of_query, of_node in zip(
                torch.split(asked, widths, 1), torch.split(rows, widths, 1), strict=True
            )
        ]
        said: Tensor = self.evidence[task](queries.evidence, queries.stats)
        return torch.stack([*heads, said, self.bias[task].expand_as(said)])

    def probabilities(
        self, task: RankingTask, scores: Float[Tensor, "queries candidates"]
    ) -> Float[Tensor, "queries candidates"]:
        """Calibrated chances of being what the query needs; the scores are of all candidates."""
        chances: Tensor = self.calibration(task, scores)
        return chances

    def score_all_tools(
        self, states: NodeStates, queries: QueryTensors
    ) -> Float[Tensor, "queries tools"]:
        """Chance of each tool to serve the intent."""
        return self._chances(RankingTask.TOOLS, states, queries)

    def score_all_capabilities(
        self, states: NodeStates, queries: QueryTensors
    ) -> Float[Tensor, "queries capabilities"]:
        """Chance of each capability, of any level, to serve the intent."""
        return self._chances(RankingTask.CAPABILITIES, states, queries)

    def predict_next(
        self, states: NodeStates, queries: QueryTensors
    ) -> Float[Tensor, "queries tools"]:
        """Chance of each tool to be called next, after those of the prefix."""
        return self._chances(RankingTask.NEXT_TOOL, states, queries)

    def _chances(
        self, task: RankingTask, states: NodeStates, queries: QueryTensors
    ) -> Float[Tensor, "queries candidates"]:
        return self.probabilities(task, self.scores(task, states, queries))

    def _projected(self, view: View) -> Float[Tensor, "nodes width"]:
        tools = len(view.tool_features)
        states = torch.cat(
            [
                self.project["tools"](view.vectors[:tools]),
                self.project["capabilities"](view.vectors[tools:]),
            ]
        )
        if not self.config.id_embeddings:
            return states
        with_own: Tensor = self.id_embedding(states, view.rows)
        return with_own

    def _with_features(
        self,
        kind: Kind,
        states: Float[Tensor, "candidates width"],
        features: Float[Tensor, "candidates feature_columns"],
    ) -> Float[Tensor, "candidates columns"]:
        if not self.features:
            return states
        standardised = self.standardise[kind](features)
        terms = [layer.node_terms(kind, standardised) for layer in self.features.values()]
        return torch.cat([states, *terms], dim=1)

    def _query_rows(
        self, task: RankingTask, states: NodeStates, queries: QueryTensors
    ) -> Float[Tensor, "queries columns"]:
        """What the rows of candidates are multiplied with."""
        own: Tensor = self.query[task](queries.vectors)
        if task is RankingTask.NEXT_TOOL:
            own = own + self._context(states.tools[:, : self.config.width], queries.prefixes)
        terms = [layer.query[task](queries.vectors) for layer in self.features.values()]
        return torch.cat([own / self.config.head_dim**0.5, *terms], dim=1)

    def _context(
        self, tools: Float[Tensor, "tools width"], prefixes: Int[Tensor, "queries longest"]
    ) -> Float[Tensor, "queries width"]:
        """What the tools called so far add to the query; zeros where none was."""
        called = prefixes != ABSENT
        length = called.sum(1, keepdim=True)
        query, _ = called.nonzero(as_tuple=True)
        steps = tools.index_select(0, prefixes[called])  # (called, width)
        none = tools.new_zeros(len(prefixes), tools.shape[1])
        mean = none.index_add(0, query, steps) / length.clamp(min=1)
        ends = length.squeeze(1).cumsum(0) - 1
        begun = (length.squeeze(1) > 0).nonzero().squeeze(1)
        last = none.index_add(0, begun, steps.index_select(0, ends[begun]))
        context: Tensor = self.last(last) + self.mean(mean)
        return context
