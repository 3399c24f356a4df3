"""Which tool is meant by a name that holds a server's: ``mcp__files__read``, ``files.read``.

Other hosts of tools write them so.  Tools of a server need not be known; its name is enough.
"""

import re
from collections.abc import Iterable

from pml.analysis.typescript import access
from pml.domain.capability import CAPABILITY_SERVER
from pml.domain.nearest import nearest
from pml.domain.tools import Catalog

_SEPARATORS = re.compile(r"__+|[:/.]")
_LEADING = 2
"""Words that may stand before the server's name: ``mcp``, ``tools``."""


class Meant:
    """Finds the tools of one catalog in names."""

    def __init__(self, catalog: Catalog) -> None:
        self._catalog = catalog
        self._servers = {
            _plain(server): server for server in catalog.servers if server != CAPABILITY_SERVER
        }
        self._homes: dict[str, str] = {}
        """A server for the name of each tool that is known."""
        for server in self._servers.values():
            for name in catalog.tools_of(server):
                self._homes.setdefault(_plain(name), server)

    def is_server(self, name: str) -> bool:
        """Whether a server has that name."""
        return _plain(name) in self._servers

    def call(self, names: Iterable[str], *, alone: bool = True) -> str | None:
        """How the tool is called that the names mean together: ``mcp.files.read({ ... })``.

        ``alone``: the name of a tool means it without its server's.
        """
        words = [word for name in names for word in _SEPARATORS.split(name) if word]
        for place, word in enumerate(words[: _LEADING + 1]):
            found = self._split(word, words[place + 1 :])
            if found is not None:
                return self._written(*found)
        home = self._homes.get(_plain(words[-1])) if words and alone else None
        return None if home is None else self._written(home, words[-1])

    def _split(self, word: str, after: list[str]) -> tuple[str, str] | None:
        """The server in a word, and the tool in it or after it."""
        server = self._servers.get(_plain(word))
        if server is not None:
            return (server, after[0]) if after else None
        plain = _plain(word)
        for end in (place for place, sign in enumerate(plain) if sign == "_"):
            server = self._servers.get(plain[:end])
            if server is not None and word[end + 1 :]:
                return server, word[end + 1 :]
        return None

    def _written(self, server: str, name: str) -> str:
        known = {_plain(tool): tool for tool in self._catalog.tools_of(server)}
        near = [known[_plain(name)]] if _plain(name) in known else nearest(name, known.values())
        return f"mcp{access(server)}{access(near[0] if near else name)}({{ ... }})"


def _plain(name: str) -> str:
    """The name in the spelling of which identifiers are capable, whatever its case."""
    return name.replace("-", "_").lower()
