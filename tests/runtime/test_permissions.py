"""permissions.yaml: which rule holds, and what is said of a malformed one (HIL-1)."""

import re
from pathlib import Path

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from pml.domain.permissions import ApprovalMode, Effect, Scope
from pml.domain.tools import Tool, matches
from pml.errors import ConfigError
from pml.runtime.permissions import Permissions, load_permissions

REFERENCE = Path(__file__).parents[2] / "docs" / "reference" / "permissions-yaml.md"


def load(tmp_path: Path, text: str) -> Permissions:
    path = tmp_path / "permissions.yaml"
    path.write_text(text, encoding="utf-8")
    return load_permissions(path)


@pytest.fixture
def documented(tmp_path: Path) -> Permissions:
    """The example of the reference."""
    example = re.search(r"```yaml\n(.*?)```", REFERENCE.read_text(encoding="utf-8"), re.DOTALL)
    assert example is not None
    return load(tmp_path, example[1])


@pytest.mark.parametrize(
    ("tool", "scope", "effect", "mode"),
    [
        ("git:git_log", Scope.READONLY, Effect.READ, ApprovalMode.AUTO),
        ("git:git_commit", Scope.FILESYSTEM, Effect.READ, ApprovalMode.HIL),
        ("git:other", Scope.FULL, Effect.READ, ApprovalMode.HIL),
        ("files:read_file", Scope.READONLY, Effect.READ, ApprovalMode.AUTO),
        ("files:write_file", Scope.FILESYSTEM, Effect.IDEMPOTENT, ApprovalMode.AUTO),
        ("files:move_file", Scope.FULL, Effect.WRITE, ApprovalMode.HIL),
        ("unknown:tool", Scope.FULL, Effect.WRITE, ApprovalMode.HIL),
    ],
)
def test_the_documented_example_means_what_it_says(
    documented: Permissions, tool: str, scope: Scope, effect: Effect, mode: ApprovalMode
) -> None:
    """All tools say that they only read; that counts for the trusted server alone."""
    server, _, name = tool.partition(":")
    permission = documented.of(Tool(server=server, name=name, annotations={"readOnlyHint": True}))
    assert (permission.tool, permission.scope) == (tool, scope)
    assert (permission.effect, permission.approval_mode) == (effect, mode)
    assert permission.reason


def test_the_reason_names_the_rule_and_its_line(documented: Permissions) -> None:
    log = documented.of(Tool(server="git", name="git_log", annotations={"readOnlyHint": True}))
    assert log.reason.startswith("permissions.yaml:6: git: 'git_log'; effect from readOnlyHint")
    other = documented.of(Tool(server="files", name="chmod"))
    assert "no pattern of server 'files' matches" in other.reason
    assert "no server 'web'" in documented.of(Tool(server="web", name="get")).reason


def test_without_a_file_everything_needs_approval() -> None:
    permission = Permissions.none().of(Tool(server="a", name="b", annotations={"readOnlyHint": 1}))
    assert permission.approval_mode is ApprovalMode.HIL
    assert permission.effect is Effect.WRITE
    assert permission.scope is Scope.FULL


@pytest.mark.parametrize(
    ("annotations", "effect"),
    [
        ({}, Effect.WRITE),
        ({"readOnlyHint": True}, Effect.READ),
        ({"readOnlyHint": True, "destructiveHint": False}, Effect.READ),
        ({"readOnlyHint": True, "destructiveHint": True}, Effect.WRITE),
        ({"readOnlyHint": "yes"}, Effect.WRITE),
        ({"idempotentHint": True}, Effect.IDEMPOTENT),
        ({"idempotentHint": True, "destructiveHint": True}, Effect.IDEMPOTENT),
        ({"destructiveHint": False}, Effect.WRITE),
    ],
)
@pytest.mark.parametrize("entry", ["{}", "{approval_mode: auto}"])
def test_annotations_of_a_trusted_server_set_the_effect_where_the_rule_does_not(
    tmp_path: Path, annotations: dict[str, object], effect: Effect, entry: str
) -> None:
    tool = Tool(server="s", name="t", annotations=annotations)
    rules = f"version: 1\nservers:\n  s:\n    trusted: true\n    tools:\n      t: {entry}\n"
    assert load(tmp_path, rules).of(tool).effect is effect
    said = rules.replace(entry, "{effect: write}")
    assert load(tmp_path, said).of(tool).effect is Effect.WRITE
    distrusted = rules.replace("true", "false")
    assert load(tmp_path, distrusted).of(tool).effect is Effect.WRITE


PATTERNS = st.text(alphabet="ab*?[].", max_size=6)


@given(st.lists(PATTERNS, max_size=4, unique=True), st.text(alphabet="ab[].", max_size=6))
def test_the_first_pattern_in_file_order_holds(patterns: list[str], name: str) -> None:
    def model(pattern: str) -> bool:
        escaped = "".join(c if c in "*?" else re.escape(c) for c in pattern)
        return re.fullmatch(escaped.replace("*", ".*").replace("?", "."), name) is not None

    assert [matches(pattern, name) for pattern in patterns] == [model(p) for p in patterns]
    assert matches("*", name)


def test_the_first_match_wins_over_a_better_one(tmp_path: Path) -> None:
    text = (
        "version: 1\nservers:\n  s:\n    tools:\n"
        "      '*': {effect: read}\n      t: {effect: idempotent}\n"
    )
    assert load(tmp_path, text).of(Tool(server="s", name="t")).effect is Effect.READ


HEAD = "version: 1\nservers:\n  git:\n"


@pytest.mark.parametrize(
    ("text", "line", "says"),
    [
        ("", None, "expected a mapping, found nothing"),
        ("- a\n", 1, "expected a mapping, found a list"),
        ("servers: {}\n", 1, "expected version: 1, found None"),
        ("version: 2\n", 1, "expected version: 1, found 2"),
        ("version: true\n", 1, "expected version: 1, found True"),
        ("version: 1\nserver: {}\n", 2, "server: unknown key; did you mean 'servers'?"),
        ("version: 1\nservers: [git]\n", 2, "servers: expected a mapping, found a list"),
        (
            HEAD + "    trust: true\n",
            4,
            "did you mean 'trusted'? (expected one of: tools, trusted)",
        ),
        (HEAD + "    trusted: maybe\n", 4, "expected true or false, found 'maybe'"),
        (HEAD + "    tools:\n      a: auto\n", 5, "expected a mapping, found text"),
        (HEAD + "    tools:\n      a:\n        efect: read\n", 6, "did you mean 'effect'?"),
        (HEAD + "    tools:\n      a:\n        effect: reed\n", 6, "did you mean 'read'?"),
        (HEAD + "    tools:\n      a: {approval_mode: no}\n", 5, "expected one of: auto, hil"),
        (HEAD + "    tools:\n      1: {}\n", 4, "expected text as key, found 1"),
        (
            HEAD + "    tools:\n      a: {}\n      b: {}\n      a: {}\n",
            7,
            "given twice, first in line 5",
        ),
        (HEAD + "  git: {}\n", 4, "the key 'git' is given twice, first in line 3"),
        ("version: 2026-13-45\n", None, "expected YAML"),
        ("version: 1\nservers: {a: b: c}\n", 2, "expected YAML"),
        ("version: 1\n\tservers: {}\n", 2, "expected YAML"),
        ("a: &x [1]\nb: *x\n", None, "aliases"),
        ("version: !!python/object:os.system 1\n", None, "expected YAML"),
        ("version: 1\n...\n---\nversion: 1\n", 3, "expected YAML"),
        ("version: 1 # \udcff", 1, "expected UTF-8 text"),
    ],
)
def test_what_is_malformed_is_named_with_its_line(
    tmp_path: Path, text: str, line: int | None, says: str
) -> None:
    path = tmp_path / "permissions.yaml"
    path.write_bytes(text.encode("utf-8", "surrogateescape"))
    with pytest.raises(ConfigError) as error:
        load_permissions(path)
    assert says in str(error.value)
    assert error.value.source == str(path)
    assert line is None or error.value.line == line


def test_a_file_that_cannot_be_read_is_named(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="No such file"):
        load_permissions(tmp_path / "none.yaml")
    with pytest.raises(ConfigError, match="directory"):
        load_permissions(tmp_path)


YAML_VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=8),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(["version", "servers", "trusted", "tools", "effect", "scope", "x"])
            | st.integers(),
            inner,
            max_size=4,
        )
    ),
    max_leaves=12,
)


@given(value=YAML_VALUES)
def test_any_yaml_is_permissions_or_a_config_error(
    value: object, tmp_path_factory: pytest.TempPathFactory
) -> None:
    path = tmp_path_factory.mktemp("any") / "permissions.yaml"
    path.write_text(yaml.safe_dump(value, allow_unicode=True), encoding="utf-8")
    try:
        permissions = load_permissions(path)
    except ConfigError:
        return
    assert permissions.of(Tool(server="s", name="t")).tool == "s:t"


def test_who_may_answer_approvals_and_until_when_is_configured(tmp_path: Path) -> None:
    """HIL-4: an agent may answer only where the configuration says so."""
    assert not Permissions.none().file.approvals.agents
    rules = load(tmp_path, "version: 1\napprovals: {agents: true, ttl_s: 60}").file.approvals
    assert (rules.agents, rules.ttl_s) == (True, 60)


@pytest.mark.parametrize(
    ("approvals", "complaint"),
    [
        ("{agent: true}", "agents"),
        ("{agents: 1}", "expected true or false, found 1"),
        ("{agents: yes please}", "expected true or false"),
        ("{ttl_s: 0}", "expected whole seconds"),
        ("{ttl_s: true}", "expected whole seconds"),
        ("{ttl_s: 1.5}", "expected whole seconds"),
        ("{ttl_s: 1000000000}", "a year"),
        ("[agents]", "mapping"),
    ],
)
def test_what_approvals_cannot_be_is_an_error_with_its_line(
    tmp_path: Path, approvals: str, complaint: str
) -> None:
    with pytest.raises(ConfigError, match=complaint) as caught:
        load(tmp_path, f"version: 1\napprovals: {approvals}")
    assert caught.value.line == 2
