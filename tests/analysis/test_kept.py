"""What is kept of a program: no secret, and only what can be used again (ST-5, ST-8)."""

# ruff: noqa: E501  # programs, a row each

import re

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from msgspec import UNSET

from pml.analysis.kept import name_of, new_capability
from pml.analysis.parameters import bind_capability
from pml.analysis.syntax import Source
from pml.domain.capability import CAPABILITY_NAME, CapabilitySource, NewCapability
from pml.domain.record import decode, encode
from pml.domain.structure import Literal, Task
from tests.analysis.programs import EPIC_10, program

SECRET = "ghp_" + "a1B2c3D4e5F6g7H8i9J0k1L2"


def kept(source: str, intent: str = "do it") -> NewCapability:
    made = new_capability(program(source), intent=intent)
    assert isinstance(made, NewCapability), made
    return made


def refused(source: str) -> str:
    made = new_capability(program(source), intent="do it")
    assert isinstance(made, str)
    return made


def test_a_program_without_secrets_is_kept_as_it_is() -> None:
    analysed = program(EPIC_10)
    made = new_capability(analysed, intent="Read a file", depth=2, source=CapabilitySource.DAG)
    assert made == NewCapability(
        canonical_hash=analysed.canonical_hash,
        name="read_file",
        intent="Read a file",
        source=CapabilitySource.DAG,
        code=EPIC_10,
        instrumented=analysed.instrumented,
        structure=analysed.structure,
        parameters=analysed.parameters,
        depth=2,
    )


def test_a_lifted_secret_is_masked_and_its_parameter_needed() -> None:
    """ST-5: by what it is, or by what it is called."""
    source = f"""
      const auth = "whatever"; // ask {SECRET}
      await mcp.s.a({{ key: `{SECRET}
`, token: "abc", path: "x", deep: [args.n, {{ password: 5 }}], to: auth }});
      if (args.n) await mcp.s.b({{ y: 1 }});
    """
    made = kept(source)
    assert SECRET not in repr(made)
    assert "whatever" not in repr(made)
    needed = {p.name: (p.required, p.default) for p in made.parameters if p.lifted}
    masked = (True, UNSET)
    assert needed == {
        "to": masked, "key": masked, "token": masked, "path": (False, "x"),
        "deep_1": masked, "y": (False, 1),
    }  # fmt: skip
    assert made.code.count('"[REDACTED]"') == made.instrumented.count('"[REDACTED]"') == 4
    assert "// ask [REDACTED]" in made.code
    assert bind_capability(made.parameters, {"n": 1}).missing == ("to", "key", "token", "deep_1")


def test_lines_and_places_of_a_masked_program_are_right() -> None:
    source = f"f(`é`); /* {SECRET}\n\n */ const k = `{SECRET}\n`\nif (x) await mcp.s.a({{ k, o: [x, '{SECRET}'] }}); await mcp.s.b()"
    made = kept(source)
    assert made.code.count("\n") == made.instrumented.count("\n") == source.count("\n")
    assert not list(Source(made.instrumented).problems())
    places = {
        name: made.code.encode()[at.start : at.end].decode()
        for name, at in made.structure.locations.items()
    }
    assert places == {
        "d1": 'if (x) await mcp.s.a({ k, o: [x, "[REDACTED]"] });',
        "n1": 'mcp.s.a({ k, o: [x, "[REDACTED]"] })',
        "n2": "mcp.s.b()",
    }  # fmt: skip
    lines = made.code.splitlines()
    for name, at in made.structure.locations.items():
        assert lines[at.line - 1][at.column - 1 :].startswith(places[name])
    (first, _) = (node for node in made.structure.nodes if isinstance(node, Task))
    assert first.arguments["k"] == Literal(value="[REDACTED]", parameter_name="k")
    # the masked program is the same procedure with the same splices
    again = program(made.code)
    assert again.canonical_hash == made.canonical_hash
    assert "".join(again.instrumented.split()) == "".join(made.instrumented.split())


@pytest.mark.parametrize(
    ("source", "line"),
    [
        (f"await mcp.s.a();\nf('{SECRET}')", 2),
        (
            f"const h = {{\n  x: {{ authorization: 'q' }} }}; await mcp.s.a(h); f(h); /* {SECRET} */",
            2,
        ),
        (f"type K = '{SECRET}'; await mcp.s.a()", 1),
        (f"await mcp.s.a();\n\nif (x === `{SECRET}-${{y}}`) f()", 3),
        ("const password = 'x'; if (args.p === password) await mcp.s.a()", 1),
        (f"await mcp.s.a({{ x: y ?? '{SECRET}' }})", 1),
        (f"await mcp.s.a({{ '{SECRET}': 1 }})", 1),
        (f"await mcp.s.a({{ x: f(/{SECRET}/) }})", 1),
        ("class A { token = 'x' }; await mcp.s.a()", 1),
        ("o.apiKey = 'x'; await mcp.s.a()", 1),
        ("f((secret = 'x') => secret); await mcp.s.a()", 1),
    ],
)
def test_a_secret_elsewhere_is_a_reason_that_names_the_line(source: str, line: int) -> None:
    """ST-5: without it the program would do something else."""
    reason = refused(source)
    assert reason.startswith(f"line {line} holds what looks like a secret")
    assert "pass it in args" in reason
    assert SECRET not in reason


@pytest.mark.parametrize(
    "source",
    [
        "await mcp.s.a({ headers: { authorization: `Bearer ${args.token}` } })",
        "await mcp.s.a({ authorization: 'Bearer ' + args.token })",
        "let token = ''; await mcp.s.a({ token })",
        "const { token } = args; await mcp.s.a({ token })",
        "await mcp.s.a({ tokenCount: 5, author: 'x', path: '/a/b/c.txt' })",
        "await mcp.s.a({ id: '3f2504e0-4f89-41d3-9a0c-0305e82c3301' })",
    ],
)
def test_what_is_no_secret_is_kept(source: str) -> None:
    made = kept(source)
    assert made.code == source
    assert "REDACTED" not in repr(made)


@pytest.mark.parametrize(
    ("source", "reason"),
    [
        ("return 1", "it calls nothing"),
        ("await mcp.s[args.t]()", "what it calls cannot be known before it runs"),
        ("await mcp.s.zzz()", "it has errors"),
        ("const x = ;", "it has errors"),
        ("await mcp.s.a({ token: 'x' });" * 51, "it holds 51 secrets, at most 50"),
    ],
)
def test_what_is_no_procedure_is_not_kept(source: str, reason: str) -> None:
    assert refused(source).startswith(reason)


PLACES = (
    "await mcp.s.a({{ path: '{0}' }})",
    "const k = '{0}'; await mcp.s.a({{ x: [k, args.y] }}); f(k)",
    "await mcp.s.a({{ x: {{ y: ['{0}', args.z], w: `{0}` }} }}) // {0}",
    "/* {0} */ await mcp.s.a({{ x: {{ y: '{0}' /* {0} */ }} }}); // {0}\n",
    "await mcp.s.a(); f('{0}')",
    "await mcp.s.a({{ x: `a ${{y}} {0}` }})",
    "await mcp.s.a({{ x: y ? '{0}' : 1 }})",
    "switch (x) {{ case '{0}': await mcp.s.a() }}",
    "if (x === '{0}' /* {0} */) await mcp.s.a()",
    "type T = '{0}' | `{0}${{string}}`; await mcp.s.a()",
    "const h = {{ x: '{0}' }}; await mcp.s.a(h)",
    "await mcp.s.a({{ ...{{ x: '{0}' }}, ['{0}']: '{0}' }})",
    "await mcp.s.a({{ x: ('{0}' as string)!, y: ['{0}'] satisfies string[] }})",
)
alphabet = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
secrets = st.one_of(
    st.text(alphabet, min_size=36, max_size=36).map(lambda text: "ghp_" + text),
    st.text(alphabet, min_size=16, max_size=16).map(lambda text: "AKIA" + text.upper()),
    st.text(alphabet, min_size=12, max_size=20).map(lambda text: f"https://user:{text}@h/x"),
    st.text(alphabet, min_size=24, max_size=24).map(lambda text: "xoxb-" + text),
)


@given(st.lists(st.sampled_from(PLACES), min_size=1, max_size=3), secrets, st.booleans())
@example(list(PLACES[:4]), SECRET, True)
def test_no_capability_holds_a_planted_secret(
    places: list[str], secret: str, in_intent: bool
) -> None:
    """A law: wherever it stands, it is masked, or nothing is kept."""
    source = "\n".join(f"{{ {place.format(secret)}\n}}" for place in places)
    analysed = program(source)
    assert analysed.errors == ()
    made = new_capability(analysed, intent=f"send {secret}" if in_intent else "send it")
    hidden = re.search(r"user:(.*)@", secret)
    planted = secret if hidden is None else hidden[1]
    if isinstance(made, str):
        assert planted not in made
        return
    assert planted not in encode(made).decode()
    assert decode(NewCapability, encode(made)) == made
    assert made.instrumented.count("\n") == source.count("\n")
    assert program(made.code).canonical_hash == made.canonical_hash


@pytest.mark.parametrize(
    ("intent", "name"),
    [
        ("Read the notes of a folder", "read_notes_of_folder"),
        ("Prüfe São Paulo", "prufe_sao_paulo"),
        ("delete", "do_delete"),
        ("Then!", "do_then"),
        ("constructor", "do_constructor"),
        ("3 things", "_3_things"),
        ("読む", "capability"),
        ("", "capability"),
        ("x" * 80, "x" * 48),
        (
            "summarise release notes of repository and write everything down",
            "summarise_release_notes_of_repository_and_write",
        ),
    ],
)
def test_a_name_is_made_of_the_words_of_the_intent(intent: str, name: str) -> None:
    """ST-8."""
    assert name_of(intent) == name


@given(st.text())
def test_every_name_can_stand_in_code(intent: str) -> None:
    name = name_of(intent)
    assert re.fullmatch(CAPABILITY_NAME, name)
    assert len(name) <= 48
    assert not list(Source(f"const {name} = await capabilities.{name}({{}})").problems())
