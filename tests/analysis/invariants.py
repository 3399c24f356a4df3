"""What holds of analysis whatever the source (SA-11); used by tests and by the fuzzer."""

from pml.analysis.analyse import analyse, read
from pml.analysis.kept import new_capability
from pml.analysis.parameters import bind, bind_capability
from pml.analysis.signature import capability_signature
from pml.analysis.syntax import Source
from pml.domain.program import Program
from pml.domain.record import decode, encode
from pml.domain.structure import ANY_TOOL, StaticStructure, Task
from pml.domain.tools import Catalog
from tests.analysis.programs import CATALOG


def check(source: str, catalog: Catalog = CATALOG) -> Program:
    """Analyse a source and all that is made of it.

    Raises:
        AssertionError: the parts of the answer contradict one another.
    """
    analysed = analyse(source, catalog)
    _check_structure(analysed)
    _check_text(analysed, source)
    names = [parameter.name for parameter in analysed.parameters]
    assert len(set(names)) == len(names)
    assert (read(source).names is None) <= bool(analysed.errors)
    bind(analysed, {"path": 1})
    bind_capability(analysed.parameters, {"path": 1})
    new_capability(analysed, intent=source)
    capability_signature("x", analysed.parameters)
    return analysed


def _check_structure(analysed: Program) -> None:
    structure = analysed.structure
    assert decode(StaticStructure, encode(structure)) == structure
    names = [node.id for node in structure.nodes]
    assert len(set(names)) == len(names)
    assert set(structure.locations) == set(names)
    assert {end for edge in structure.edges for end in (edge.source, edge.target)} <= set(names)
    if any(isinstance(node, Task) and node.tool == ANY_TOOL for node in structure.nodes):
        assert not structure.complete


def _check_text(analysed: Program, source: str) -> None:
    assert bool(analysed.instrumented) == (not analysed.errors and bool(source))
    assert bool(analysed.canonical_hash) == (not analysed.errors)
    if analysed.errors:
        assert analysed.parameters == ()
    else:
        assert analysed.instrumented.count("\n") == source.count("\n")
        assert not list(Source(analysed.instrumented).problems())
    lines = analysed.source.count("\n") + analysed.source.count("\r") + 3
    for diagnostic in analysed.diagnostics:
        assert diagnostic.message
        assert 1 <= diagnostic.line <= lines
        assert diagnostic.column >= 1
