"""Sets of call sites as bits of a number, in source order, and what can come before what."""

from bisect import bisect_left
from collections.abc import Sequence

from pml.analysis.calls import Site
from pml.analysis.syntax import LOOPS, Syntax, function_of


class Order:
    """``in_functions`` are the sites in functions: these run when they are called."""

    def __init__(self, sites: Sequence[Site]) -> None:
        self._sites = sites
        self._bit = {site: 1 << n for n, site in enumerate(sites)}
        self._starts = [site.node.start for site in sites]
        self.in_functions = 0
        for site in sites:
            if function_of(site.node).parent is not None:
                self.in_functions |= self._bit[site]

    def bit(self, site: Site) -> int:
        """The set of one site."""
        return self._bit[site]

    def site(self, place: int) -> Site:
        """The site of the bit at a place, counted from the lowest."""
        return self._sites[place]

    def before(self, site: Site) -> int:
        """The sites whose results there may be when the site is reached."""
        if self.in_functions & self._bit[site]:
            return (1 << len(self._starts)) - 1
        earlier = (1 << bisect_left(self._starts, site.node.end)) - 1
        loop: Syntax | None = None
        for outer in site.node.ancestors():
            loop = outer if outer.kind in LOOPS else loop
        if loop is not None:
            return earlier | self.within(loop) | self.in_functions
        return (earlier | self.in_functions) & ~self._bit[site]

    def within(self, node: Syntax) -> int:
        """The sites in a piece of code."""
        first = bisect_left(self._starts, node.start)
        last = bisect_left(self._starts, node.end)
        return (1 << last) - (1 << first)
