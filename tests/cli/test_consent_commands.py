"""What people agree to for longer, who they are, and what is deleted (HIL-3, OP-3, ST-7)."""

import json
from pathlib import Path

from pml.cli.exits import ExitCode
from pml.cli.gc import render_collected
from pml.store.ports import Collected
from tests.cli.conftest import RunPml

WRITES = 'await mcp.fixture.put({ path: args.path, text: "x" });'


def test_an_answer_is_remembered_listed_used_and_revoked(pml: RunPml, workspace: Path) -> None:
    """HIL-3: and every step is in the audit log."""
    path = str(workspace / "out.txt")
    given = ("--args", json.dumps({"path": path}), "-q", "--json")
    write = ("execute", "--intent", "write it", "--code-file", "-", *given)
    run_id = json.loads(pml(*write, stdin=WRITES).stdout)["workflowId"]
    remembered = ("--remember", "fixture:p*", "--arguments", json.dumps({"path": path}))
    done = pml("approve", run_id, "--yes", *remembered, "--for", "8h")
    assert done.returncode == ExitCode.OK, done.stderr

    again = pml(*write, stdin=WRITES)
    assert again.returncode == ExitCode.OK, again.stdout
    (grant,) = (
        each
        for each in json.loads(pml("grants", "--json").stdout)
        if each["scope"].get("arguments") == {"path": path}
    )
    assert f"fixture:p*, path: {path}"[:30] in pml("grants").stdout
    revoked = pml("grants", "revoke", grant["id"][:8])
    assert (revoked.returncode, "asked about again" in revoked.stderr) == (ExitCode.OK, True)
    assert pml(*write, stdin=WRITES).returncode == ExitCode.APPROVAL_REQUIRED

    told = json.loads(pml("audit", "--run", run_id[:8], "--json").stdout)
    assert [each["event"] for each in reversed(told)] == ["asked", "granted", "used"]
    assert told[1]["actor"] == "local"
    assert pml("audit", "--limit", "5").stdout.startswith("when ")


def test_a_key_is_shown_once_and_opens_nothing_when_revoked(pml: RunPml) -> None:
    """OP-3: what is listed is who may do what, never the key."""
    made = pml("keys", "create", "ada", "--role", "approver")
    assert made.stdout.startswith("pml_")
    assert "not shown again" in made.stderr
    assert pml("keys", "create", "ada").returncode == ExitCode.USAGE
    listed = pml("keys").stdout
    assert "ada   approver" in listed
    assert made.stdout.strip() not in listed

    assert pml("keys", "revoke", "ada").returncode == ExitCode.OK
    assert "revoked 20" in pml("keys").stdout
    assert pml("keys", "revoke", "ada").returncode == ExitCode.NOT_FOUND


def test_what_was_deleted_is_counted() -> None:
    gone = Collected(traces=1, runs=0, results=1_200, log_records=3, leases=2)
    assert render_collected(gone) == "deleted 1 trace, 1,200 results, 3 log records"
    nothing = Collected(traces=0, runs=0, results=0, log_records=0, leases=0)
    assert render_collected(nothing).startswith("deleted nothing")


def test_what_is_still_kept_stays(pml: RunPml) -> None:
    done = pml("gc", "--older-than", "36500", "--json")
    assert json.loads(done.stdout)["traces"] == 0
