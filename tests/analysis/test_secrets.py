"""Secrets of a program, by what names them and wherever they stand again (ST-5)."""

# ruff: noqa: E501  # programs, a row each

import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pml.analysis.analyse import analyse
from pml.analysis.kept import new_capability
from pml.domain.capability import NewCapability
from pml.domain.record import encode
from pml.domain.tools import Catalog, Tool
from tests.analysis.programs import program
from tests.oracle.compare import CATALOG as ORACLE
from tests.oracle.programs import case
from tests.oracle.snippets import SNIPPETS

SECRET = "hunter2zz"
TOKEN = "ghp_" + "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8"
ROOT = Path(__file__).parents[2]
LIFTED = {
    "key": "await mcp.s.a({ password: '§' })",
    "entry": "await mcp.s.a({ headers: [['Authorization', '§']] })",
    "option": "await mcp.s.a({ argv: ['login', '--password', '§'] })",
    "name beside": "await mcp.s.a({ env: [{ name: 'API_KEY', value: '§' }] })",
    "one of several keys": "const p = '§'; await mcp.s.a({ path: p, password: p })",
    "passed on elsewhere": "const p = '§'; await mcp.s.a({ path: p }); f({ password: p })",
    "key of an object": "const p = '§'; await mcp.s.a({ path: p }); const o = { password: p }",
    "another variable": "const p = '§'; await mcp.s.a({ path: p }); const token = p.trim()",
    "compared": "const p = '§'; await mcp.s.a({ path: p }); if (p === args.password) f()",
    "helper": "const p = '§'; await mcp.s.a({ path: p }); const login = (password) => f(password); login(p)",
    "object by name": "const h = { authorization: '§', n: args.n }; await mcp.s.a({ headers: h })",
    "spread of a name": "const h = { authorization: '§' }; await mcp.s.a({ ...h, n: 1 })",
    "argument of a helper": "const login = (p) => mcp.s.a({ password: p }); await login('§')",
    "called as in the helper": "const login = (password) => mcp.s.a({ x: password }); await login('§')",
    "the same text": "await mcp.s.a({ token: '§', path: '§' })",
    "inside a text": "await mcp.s.a({ token: '§', path: ['/x/§/y'] })",
    "without its scheme": "await mcp.s.a({ authorization: 'Bearer §', path: 'x §' })",
    "of a URL": "await mcp.s.a({ url: 'https://user:§@h/x', path: '§' })",
    "a comment": "await mcp.s.a({ token: '§' }) // it is §\n",
}  # fmt: skip
ELSEWHERE = {
    "default": "const { password = '§' } = args; f(password)",
    "default of another name": "const { password: p = '§' } = args; f(p)",
    "default inside": "const { password: [p = '§'] } = args; f(p)",
    "set where absent": "password ??= '§'",
    "set where empty": "let password = args.x; password ||= '§'",
    "instead of what is absent": "f({ password: args.x ?? '§' })",
    "instead of what is empty": "f({ x: args.password || '§' })",
    "an arm": "f({ password: args.x ? args.y : ('§' as string) })",
    "concatenated": "f({ password: '§' + '' })",
    "template of constants": "f({ password: `§${''}` })",
    "in a template": "f({ password: `${'§'}` })",
    "trimmed": "f({ password: '§'.trim() })",
    "joined": "f({ password: ['a', '§'].join('') })",
    "converted": "const token = String('§')",
    "new": "const secrets = new Set(['§'])",
    "compared": "if (args.password === '§') f()",
    "compared with a result": "if ('§' != String(args.password.trim())) f()",
    "compared with a header": "if (headers.get('authorization') === '§') f()",
    "switch": "switch (args.password) { case '§': f() }",
    "map": "new Map([['password', '§']])",
    "entries": "f([['Authorization', '§']])",
    "name and value": "f({ name: 'API_KEY', value: '§' })",
    "option": "f(['--password', '§'])",
    "setter": "headers.set('Authorization', '§')",
    "loop": "for (const password of ['§']) f(password)",
    "callback": "['§'].map((password) => f(password))",
    "argument": "const login = (password) => f(password); login('§')",
    "property": "const o = { x: '§' }; f({ password: o.x })",
    "taken apart": "const { a: password } = { a: '§' }; f(password)",
    "element": "const [, password] = ['x', '§']; f(password)",
    "added": "const list = []; list.push('§'); f({ password: list[0] })",
    "assigned": "o['password'] = '§'",
    "constant key": "const k = 'password'; f({ [k]: '§' })",
    "private field": "class A { #password = '§' }",
    "enum": "enum E { password = '§' }",
    "interface": "interface I { password: '§' }",
    "type": "type T = { a: { 'password': '§' } }",
    "type of a variable": "let password: '§' = f()",
    "known elsewhere": "await mcp.s.a({ token: '§' }); f('§')",
    "part of a text": "await mcp.s.a({ token: '§' }); f(`a §-${x}`)",
    "part of a pattern": "await mcp.s.a({ token: '§' }); f(/x§/)",
    "key": "await mcp.s.a({ token: '§' }); f({ '§': 1 })",
    "number": "await mcp.s.a({ token: 12345678 }); f(12345678)",
}  # fmt: skip
NO_TEXTS = (
    "f({ §: 1 })", "args.§", "§: for (;;) break §", "interface § {}", "type T = { §: 1 }", "let x: §",
    "const § = 1", "class A { #§ = 1 }", "f(`${args.§}`)", "f(/* x */ args.\\u0067§)".replace("§", TOKEN[1:]),
)  # fmt: skip


def made(source: str, intent: str = "do it") -> NewCapability | str:
    analysed = program(source)
    assert analysed.errors == ()
    return new_capability(analysed, intent=intent)


@pytest.mark.parametrize("name", LIFTED)
def test_a_lifted_secret_is_masked_whatever_names_it(name: str) -> None:
    kept = made(LIFTED[name].replace("§", SECRET), f"log in with {SECRET}")
    assert isinstance(kept, NewCapability), kept
    assert SECRET not in encode(kept).decode()
    assert "[REDACTED]" in kept.code
    assert kept.intent == "log in with [REDACTED]"
    assert not any("password" not in p.name and p.default == SECRET for p in kept.parameters)


@pytest.mark.parametrize("name", ELSEWHERE)
def test_a_secret_elsewhere_is_found_whatever_names_it(name: str) -> None:
    reason = made("await mcp.s.b({ q: args.q });\n" + ELSEWHERE[name].replace("§", SECRET))
    assert isinstance(reason, str)
    assert reason.startswith("line 2 holds what looks like a secret")


@pytest.mark.parametrize("code", NO_TEXTS)
def test_a_token_that_is_no_text_is_found(code: str) -> None:
    reason = made("await mcp.s.b({\n q: args.q });" + code.replace("§", TOKEN))
    assert isinstance(reason, str)
    assert reason.startswith("line 2 holds what looks like a secret")


@pytest.mark.parametrize(
    "source",
    [
        "const token = await mcp.s.a({ scope: 'read' }); await mcp.s.b({ token, path: 'x' })",
        "const { token } = await mcp.s.a({ user: 'x' }); await mcp.s.b({ token, text: 'x' })",
        "const passwordField = 'x'; f(passwordField); await mcp.s.a()",
        "const key = 'name'; f(o[key]); await mcp.s.a({ key: 'x', tokens: ['y'] })",
        "if (typeof args.token === 'string') await mcp.s.a({ q: 'string' })",
        "const token = args.token ?? ''; await mcp.s.a({ token })",
        "const token = args.env['GITHUB_TOKEN']; await mcp.s.a({ token, path: 'x' })",
        "const password = await f('secret/name'); await mcp.s.a({ password, mode: 'rw' })",
        "const secret = args.secret; if (!secret) throw new Error('secret is missing'); await mcp.s.a({ secret })",
        "let token = args.a; token += 'x'; await mcp.s.a({ token })",
        "for (const token of args.text.split(' ')) if (token !== ',') await mcp.s.a({ token })",
        "await mcp.s.a({ fields: ['id', 'password', 'email'], schema: { name: 'password', type: 'string' } })",
        "await mcp.s.a({ authorization: 'Bearer ' + args.token, token: text.replace('Bearer ', '') })",
        "await mcp.s.a({ cookies: list.map((c) => c.name + '=' + c.value).join('; ') })",
        "type A = { auth: 'basic' | 'none' }; await mcp.s.a()",
        "const shp_at_the_end_of_this_long_name = 1, hf_download_model_from_repository = 2; await mcp.s.a()",
        "await mcp.s.a({ m: new Map([['a', 'password']]).get('a'), path: 'password' })",
    ],
)
def test_code_that_handles_secrets_holds_none(source: str) -> None:
    kept = made(source)
    assert isinstance(kept, NewCapability), kept
    assert kept.code == source


def test_a_program_that_was_masked_is_masked_again() -> None:
    kept = made("await mcp.s.a({ token: 'x', o: { password: 5, q: args.q } })")
    assert isinstance(kept, NewCapability)
    again = made(kept.code)
    assert isinstance(again, NewCapability)
    assert (again.code, again.parameters) == (kept.code, kept.parameters)


def test_values_that_hold_themselves_are_followed_to_an_end() -> None:
    source = "let a = '§', b = a; for (;;) { a = [b, a, { a }]; b = { a, b: [b] }; f(a.a, b[0]) } await mcp.s.a()"
    assert isinstance(made(source.replace("§", SECRET)), NewCapability)


def test_values_that_are_too_entangled_to_follow_are_a_reason() -> None:
    rounds = "".join(f"a = [a, 'v{n}'];" for n in range(200))
    reason = made(f"let a = 's'; {rounds} {'f(a);' * 50} await mcp.s.a()")
    assert reason == "it is too intricate to be looked through for secrets: split it"


def test_the_programs_of_the_demo_and_of_the_oracle_hold_no_secrets() -> None:
    """ST-5: a control, so that what people write is kept."""
    sources = [(source.source, ORACLE) for source in [*SNIPPETS.values(), *map(case, range(300))]]
    for path in (ROOT / "examples/demo").glob("*.ts"):
        code = path.read_text()
        used = re.findall(r"mcp\.(\w+)\.(\w+)", code)
        tools = {
            server: [Tool(server=server, name=n) for s, n in used if s == server]
            for server, _ in used
        }
        sources.append((code, Catalog(tools)))
    kept = [
        (code, new_capability(analyse(code, catalog), intent="do it")) for code, catalog in sources
    ]
    assert [k for _, k in kept if isinstance(k, str) and "secret" in k] == []
    assert [code for code, k in kept if isinstance(k, NewCapability) and k.code != code] == []


names = st.sampled_from(["password", "apiKey", "x-auth-token", "client_secret", "Authorization"])
words = st.text("abcdefghijklmnopqrstuvwxyz0123456789", min_size=6, max_size=12).map("z7".__add__)
OPERATIONS = (
    "({})", "({} as string)", "{}!", "({} ?? args.x)", "(args.x || {})", "(args.c ? {} : '')", "{}.trim()",
    "String({})", "[{}][0]", "{{ v: {} }}.v", "await {}", "(args.c && {})", "[{}].join('')", "`${{{}}}`", "`a ${{{}}}`", "({} + '')",
)  # fmt: skip
HOLDERS = (
    "f({{ '{0}': {1} }})", "o['{0}'] = {1}", "if (o['{0}'] === {1}) f()", "headers.set('{0}', {1})",
    "f([['{0}', {1}]])", "switch (o['{0}']) {{ case {1}: f() }}", "const {{ '{0}': p = {1} }} = o; f(p)",
    "const v = {1}; f({{ '{0}': v }})", "const v = [{1}]; for (const w of v) f({{ '{0}': w }})",
    "const g = ({{ v }}) => f({{ '{0}': v }}); g({{ v: {1} }})", "f({{ name: '{0}', value: {1} }})",
)  # fmt: skip


@given(words, names, st.lists(st.sampled_from(OPERATIONS), max_size=4), st.sampled_from(HOLDERS))
def test_no_way_of_writing_hides_what_names_a_secret(
    word: str, name: str, operations: list[str], holder: str
) -> None:
    """A law: expressions that hand the value on, in any order, under any name that tells."""
    expression = f"'{word}'"
    for operation in operations:
        expression = operation.format(expression)
    kept = made(f"await mcp.s.b({{ q: args.q }}); {holder.format(name, expression)}")
    assert isinstance(kept, str), kept.code
    assert word not in kept
