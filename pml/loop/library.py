"""What PML knows at the moment: its tools, its capabilities, and the index over both.

The store is the truth and other processes write to it too, so the library asks it what has
changed since it last asked: at once after a change that this process made, else at most a
few times a second.  Nothing is read twice, and nothing is computed for what did not change.
"""

import asyncio
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from pml.analysis.analyse import ANY_SERVER
from pml.analysis.fields.index import ProvidesIndex
from pml.analysis.parameters import input_schema
from pml.discovery.entry import Entry
from pml.discovery.index import Index
from pml.domain.capability import CAPABILITY_SERVER, Capability, Lifecycle, PastIntent
from pml.domain.discovery import Discovered, Found
from pml.domain.nearest import nearest
from pml.domain.structure import CapabilityCall, StaticStructure
from pml.domain.tools import Catalog, Tool
from pml.errors import UpstreamUnavailableError
from pml.loop.analysed import Analysed
from pml.loop.cards import capability_card, capability_entry, tool_card, tool_entry
from pml.loop.listed import Listed, all_as_kept
from pml.loop.ports import Servers
from pml.loop.vectors import Vectors
from pml.store.ports import Mark, Store

FRESH_S = 0.25
"""What other processes write is seen this late at most; asking costs about a millisecond."""
PORTION = 50
"""Entries put into the index before others get their turn: some 5 ms."""
CARDS = 2_000
"""Tools whose card is remembered: what is found is mostly found again."""


class Library:
    """Tools and capabilities in step with the store.

    Invariant: the index holds the tools of configured servers, and every capability that is
    neither hidden nor deprecated, as they stood at the last `refresh`.
    """

    def __init__(
        self,
        store: Store,
        servers: Servers,
        *,
        clock: Callable[[], float],
        vectors: Vectors | None = None,
    ) -> None:
        self.index = Index()
        self.analysed = Analysed()
        self.searched: set[str] = set()
        """Servers of which tools have been in the index."""
        self._store = store
        self._servers = servers
        self._clock = clock
        self._vectors = vectors
        self._lock = asyncio.Lock()
        self._asked_at: float | None = None
        self._tool_mark: Mark | None = None
        self._capability_mark: Mark | None = None
        self._capability_cards: dict[str, Discovered] = {}
        self._tool_cards: dict[str, Discovered] = {}
        self._tools: dict[str, Mapping[str, Tool]] = {}
        """Of servers that programs have named."""
        self._provides: ProvidesIndex | None = None
        """None until somebody asks: start-up does not pay for it."""
        self._news = 0
        """Changes of tools seen so far: what was read before one may not be remembered after it."""

    def outdated(self) -> None:
        """Something was written: ask again at the next `refresh`."""
        self._asked_at = None

    async def refresh(self) -> None:
        """Catch up with the store.

        Raises:
            StoreError: the database is lost.
        """
        if self._fresh() and not self._lock.locked():  # else somebody is still catching up
            return
        async with self._lock:
            if self._fresh():
                return
            asked_at = self._asked_at = self._clock()
            try:
                await self._catch_up()
            except BaseException:
                if self._asked_at == asked_at:
                    self._asked_at = None
                raise

    def _fresh(self) -> bool:
        return self._asked_at is not None and self._clock() - self._asked_at < FRESH_S

    async def _catch_up(self) -> None:
        tools, capabilities = await asyncio.gather(
            self._store.tool_schemas.changes(self._tool_mark),
            self._store.capabilities.changes(self._capability_mark),
        )
        for tool_id in tools.gone:
            self._forget_tool(tool_id)
        for count, tool in enumerate(tools.tools):
            self._put_tool(tool)
            await _take_turns(count)
        intents: dict[str, list[PastIntent]] = {}
        for intent in capabilities.intents:
            intents.setdefault(intent.capability_id, []).append(intent)
        for count, capability in enumerate(capabilities.capabilities):
            self._put_capability(capability, tuple(intents.get(capability.id, ())))
            await _take_turns(count)
        self._tool_mark, self._capability_mark = tools.mark, capabilities.mark
        if self._vectors is not None:
            self._vectors.update_soon(self.index)

    def _put_tool(self, tool: Tool) -> None:
        if tool.server not in self._servers.names:
            return
        self.searched.add(tool.server)
        if self._provides is not None:
            self._provides.put(tool)
        changed = self._put(tool_entry(tool))
        known = self._tools.get(tool.server, {}).get(tool.name)
        if changed or known != tool:  # also where only its results taught something
            self._doubt(tool.id)

    def _forget_tool(self, tool_id: str) -> None:
        self.index.remove(Found.TOOL, tool_id)
        if self._provides is not None:
            self._provides.remove(tool_id)
        self._doubt(tool_id)

    def _doubt(self, tool_id: str) -> None:
        """Remember nothing of a tool that changed."""
        self._news += 1
        self._tool_cards.pop(tool_id, None)
        self._tools.pop(tool_id.partition(":")[0], None)

    def _put_capability(self, capability: Capability, intents: tuple[PastIntent, ...]) -> None:
        if capability.hidden or capability.lifecycle is Lifecycle.DEPRECATED:
            self.index.remove(Found.CAPABILITY, capability.id)
            self._capability_cards.pop(capability.id, None)
            return
        self._capability_cards[capability.id] = capability_card(capability)
        self._put(capability_entry(capability, intents))

    def _put(self, entry: Entry) -> bool:
        """Whether anything changed: what is committed late is told twice."""
        if self.index.entry(entry.kind, entry.id) == entry:
            return False
        self.index.put(entry)
        return True

    async def vector(self, intent: str) -> Any:  # noqa: ANN401  # an array, or None without encoder
        """What the encoder makes of an intent."""
        return None if self._vectors is None else await self._vectors.of(intent)

    # Tools

    @property
    def names(self) -> dict[str, Mapping[str, Tool]]:
        """Every configured server, as if none had tools: messages name the nearest."""
        return {name: {} for name in self._servers.names}

    async def listed(self, servers: Iterable[str], *, again: bool = False) -> Listed:
        """The tools of configured servers, which are asked where nothing is known of them.

        Args:
            servers: names; `ANY_SERVER` stands for all.
            again: ask the servers themselves, whatever is known.

        Raises:
            StoreError: the database is lost.
        """
        await self.refresh()
        wanted = set(servers)
        names = [name for name in self._servers.names if name in wanted or ANY_SERVER in wanted]
        known = {} if again else await self._known(names)
        missing = [name for name in names if name not in known]
        found = {name: known[name] for name in names if name in known}
        unavailable: dict[str, str] = {}
        said = await self._ask(missing)
        kept = (await self._store.tool_schemas.catalog(missing)).servers if missing else {}
        for name, tools in zip(missing, said, strict=True):
            if isinstance(tools, UpstreamUnavailableError):
                unavailable[name] = str(tools)
            elif isinstance(tools, BaseException):
                raise tools
            else:
                found[name] = all_as_kept(tools, kept.get(name, {}))
        return Listed(tools=found, unavailable=unavailable)

    async def _known(self, servers: list[str]) -> dict[str, Mapping[str, Tool]]:
        """What is remembered of servers, or stored of them."""
        known = {name: self._tools[name] for name in servers if name in self._tools}
        unknown = [name for name in servers if name not in known]
        if unknown:
            news = self._news
            stored = (await self._store.tool_schemas.catalog(unknown)).servers
            known.update(stored)
            if news == self._news:
                self._tools.update(stored)
        return known

    async def _ask(self, servers: list[str]) -> list[tuple[Tool, ...] | BaseException]:
        return await asyncio.gather(
            *(self._servers.tools(server) for server in servers), return_exceptions=True
        )

    async def provides(self) -> ProvidesIndex:
        """Which tools of configured servers can provide for which (SA-10).

        Read from the store when first asked for, then kept in step by every `refresh`.

        Raises:
            StoreError: the database is lost.
        """
        await self.refresh()
        async with self._lock:  # no change may come in between
            if self._provides is None:
                self._provides = await self._read_provides()
            return self._provides

    async def _read_provides(self) -> ProvidesIndex:
        index = ProvidesIndex()
        servers = (await self._store.tool_schemas.catalog(self._servers.names)).servers
        tools = (tool for listed in servers.values() for tool in listed.values())
        for count, tool in enumerate(tools):
            index.put(tool)
            await _take_turns(count)
        return index

    # Capabilities

    async def named(self, names: Iterable[str]) -> Mapping[str, Capability]:
        """Those of the names that are capabilities.

        Raises:
            StoreError: the database is lost.
        """
        wanted = tuple(names)
        return await self._store.capabilities.named(wanted) if wanted else {}

    async def alike(self, names: Iterable[str]) -> Mapping[str, Capability]:
        """Capabilities whose names look like these.

        Raises:
            StoreError: the database is lost.
        """
        known = [card.name for card in self._capability_cards.values()]
        return await self.named({near for name in names for near in nearest(name, known)})

    async def callees(self, capability_ids: Iterable[str]) -> dict[str, Capability]:
        """The capabilities, and those that they call, by id.

        Raises:
            NotFoundError: one of them is gone.
            StoreError: the database is lost.
        """
        found: dict[str, Capability] = {}
        pending = list(capability_ids)
        while pending:
            capability_id = pending.pop()
            if capability_id not in found:
                found[capability_id] = await self._store.capabilities.get(capability_id)
                pending += called_ids(found[capability_id].structure)
        return found

    # Cards

    def capability_card(self, capability_id: str) -> Discovered | None:
        """What discovery shows of a capability; None if it is not (or no longer) shown."""
        return self._capability_cards.get(capability_id)

    async def tool_cards(self, tool_ids: Iterable[str]) -> dict[str, Discovered]:
        """What discovery shows of tools; those that are gone are left out.

        Raises:
            StoreError: the database is lost.
        """
        wanted = list(tool_ids)
        unknown = [tool_id for tool_id in wanted if tool_id not in self._tool_cards]
        cards = {each: self._tool_cards[each] for each in wanted if each in self._tool_cards}
        if unknown:
            news = self._news
            tools = await self._store.tool_schemas.find(unknown)
            fetched = {tool_id: tool_card(tool) for tool_id, tool in tools.items()}
            cards |= fetched
            if news == self._news:
                self._tool_cards |= fetched
        while len(self._tool_cards) > CARDS:
            del self._tool_cards[next(iter(self._tool_cards))]
        return cards


async def _take_turns(count: int) -> None:
    if count % PORTION == PORTION - 1:
        await asyncio.sleep(0)


def called_ids(structure: StaticStructure) -> tuple[str, ...]:
    """Ids of the capabilities that the program itself calls."""
    return tuple(node.capability_id for node in structure.nodes if isinstance(node, CapabilityCall))


def with_capabilities(
    tools: Mapping[str, Mapping[str, Tool]], callees: Mapping[str, Capability]
) -> Catalog:
    """A catalog in which capabilities stand as the tools of a server of their own.

    Args:
        tools: by server.
        callees: by the name under which the program calls them.
    """
    known = [capability_tool(name, capability) for name, capability in callees.items()]
    by_server = {server: listed.values() for server, listed in tools.items()}
    return Catalog({**by_server, CAPABILITY_SERVER: known} if known else by_server)


def capability_tool(name: str, capability: Capability) -> Tool:
    """A capability as the tool that a program calls."""
    return Tool(
        server=CAPABILITY_SERVER,
        name=name,
        description=capability.description or capability.intent,
        input_schema=input_schema(capability.parameters),
        annotations={"capabilityId": capability.id},
    )
