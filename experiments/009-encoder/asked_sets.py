"""The corpus of the shipped encoder, and what is held back of it to choose by.

Only training splits, only sets whose licence allows weights; no test split is read here.
"""

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import polars as pl

from pml.embedding.pairs import Corpus, Request, ToolText
from pml.evaluation.corpus import corpus_of
from pml.evaluation.loading import load

SHIPPED = ("sealtools", "toolbench", "toollinkos", "mcp_tools", "bfcl_multiturn")
STRANGERS = ("ultratool", "n8n", "toollens")
"""Sets that the encoder never sees: their training intents say what it does for strangers."""
HELD_BACK = 4
"""One request, tool or server in so many is held back, by the hash of its name."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """A question about tools: which of them serve each intent?"""

    name: str
    tools: tuple[ToolText, ...]
    intents: tuple[str, ...]
    gold: tuple[frozenset[int], ...]


def shipped(data: Path) -> Corpus:
    """Everything that the shipped encoder may learn from."""
    servers = pl.read_parquet(data / "mcp_tools" / "servers.parquet")
    told = servers.filter(pl.col("overview").is_not_null())
    overviews = dict(zip(told["server"], told["overview"], strict=True))
    corpus = corpus_of([load(data / name).dataset for name in SHIPPED], overviews)
    requests = [one for one in corpus.requests if not one.tools[0].startswith("bfcl_multiturn/")]
    return replace(corpus, requests=(*requests, *_turns(data / "bfcl_multiturn")))


def _turns(folder: Path) -> list[Request]:
    """What was asked turn by turn, with the calls of that turn."""
    found = []
    rows = pl.read_parquet(folder / "workflows.parquet").filter(pl.col("split") == "train")
    for row in rows.iter_rows(named=True):
        for turn, text in enumerate(row["user_turns"]):
            calls = zip(row["nodes"], row["turn_of_call"], strict=True)
            tools = dict.fromkeys(f"bfcl_multiturn/{node}" for node, at in calls if at == turn)
            if tools:
                found.append(Request(intent=text, tools=tuple(tools)))
    return found


def held(name: str) -> bool:
    """Whether something of this name is held back."""
    return hashlib.sha256(name.encode()).digest()[0] % HELD_BACK == 0


def parted(corpus: Corpus) -> tuple[Corpus, list[Asked]]:
    """What to learn from, and what to ask: requests, main tools and servers held back."""
    real = [tool for tool in corpus.tools if tool.id.startswith("mcp_tools/")]
    unseen = [tool for tool in real if held(tool.server) and tool.description]
    secret = {tool.id for tool in real if held(tool.server)}
    known: list[Request] = []
    asked: dict[str, list[Request]] = {"sealtools": [], "toollinkos": [], "bfcl_multiturn": []}
    for request in corpus.requests:
        origin = request.tools[0].partition("/")[0]
        by_tool = origin == "toollinkos"
        back = held(request.tools[0] if by_tool else request.intent)
        (asked[origin] if back else known).append(request)
    learn = replace(
        corpus,
        tools=tuple(tool for tool in corpus.tools if tool.id not in secret),
        requests=tuple(known),
        overviews={s: text for s, text in corpus.overviews.items() if not held(s)},
    )
    questions = [_asked(name, corpus.tools, requests) for name, requests in asked.items()]
    return learn, [*questions, _names(unseen)]


def _asked(name: str, tools: Sequence[ToolText], requests: Sequence[Request]) -> Asked:
    own = [tool for tool in tools if tool.id.startswith(f"{name}/")]
    places = {tool.id: place for place, tool in enumerate(own)}
    return Asked(
        name=name,
        tools=tuple(own),
        intents=tuple(one.intent for one in requests),
        gold=tuple(frozenset(places[t] for t in one.tools if t in places) for one in requests),
    )


def _names(tools: Sequence[ToolText]) -> Asked:
    """Descriptions of unseen servers' tools, asked by name (and nothing else)."""
    drawn = np.random.default_rng(0).permutation(len(tools))[:1500].tolist()
    blank = tuple(replace(tool, name="", server="", parameters=()) for tool in tools)
    return Asked(
        name="mcp_tools, unseen servers, name to description",
        tools=blank,
        intents=tuple(tools[place].name for place in drawn),
        gold=tuple(frozenset([place]) for place in drawn),
    )


def strangers(data: Path, count: int = 800) -> list[Asked]:
    """Training intents of sets that the encoder never sees."""
    found = []
    for name in STRANGERS:
        corpus = corpus_of([load(data / name).dataset])
        drawn = np.random.default_rng(0).permutation(len(corpus.requests))[:count].tolist()
        found.append(_asked(name, corpus.tools, [corpus.requests[place] for place in drawn]))
    return [*found, _episodes(data / "toolbench")]


def _episodes(folder: Path) -> Asked:
    """Runs of ToolBench for requests outside its test set, and the tools that they called."""
    tools = corpus_of([load(folder).dataset]).tools
    runs = pl.read_parquet(folder / "episodes.parquet").filter(~pl.col("in_solvable_set"))
    calls = pl.read_parquet(folder / "executions.parquet")
    called = calls.group_by("episode_id").agg(pl.col("tool_id").unique().sort())
    joined = runs.join(called, on="episode_id").sort("episode_id")
    known = {tool.id for tool in tools}
    requests = []
    for intent, used in joined.select("intent", "tool_id").iter_rows():
        there = tuple(f"toolbench/{one}" for one in used if f"toolbench/{one}" in known)
        if there:
            requests.append(Request(intent=intent, tools=there))
    return _asked("toolbench", tools, requests)
