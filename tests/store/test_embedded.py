"""The embedded PostgreSQL survives whatever dies around it (ST-1, OP-4; design D4)."""

import os
import shutil
import signal
from pathlib import Path

import psycopg
import pytest

from pml.store.embedded import EmbeddedPostgres
from pml.store.supervisor.locks import try_lock
from tests.store.clusters import (
    connect,
    end,
    ended,
    insert,
    kept,
    parent,
    postmaster,
    start_client,
    until,
    wait_for_start,
)


def test_the_last_client_that_leaves_stops_the_server_cleanly(server: EmbeddedPostgres) -> None:
    pid = postmaster(server)
    supervisor = parent(pid)
    server.close()
    until(lambda: ended(pid) and ended(supervisor), "server and supervisor end")
    assert "database system is shut down" in server.layout.log.read_text()
    assert try_lock(server.layout.supervisor_lock) is not None


def test_a_killed_server_comes_back_with_what_was_committed(server: EmbeddedPostgres) -> None:
    insert(server, 1)
    for number in (2, 3):
        pid = postmaster(server)
        os.kill(pid, signal.SIGKILL)
        until(lambda pid=pid: ended(pid), "the server is dead")  # type: ignore[misc]
        insert(server, number)
        assert postmaster(server) != pid
    assert kept(server) == [1, 2, 3]


def test_a_killed_backend_costs_only_its_connection(server: EmbeddedPostgres) -> None:
    insert(server, 1)
    with connect(server) as victim:
        os.kill(victim.info.backend_pid, signal.SIGKILL)
        with pytest.raises(psycopg.OperationalError):
            victim.execute("SELECT 1")
    until(lambda: "reinitializing" in server.layout.log.read_text(), "the crash is noticed")
    assert kept(server) == [1]


def test_a_killed_supervisor_takes_the_server_with_it_and_both_come_back(
    server: EmbeddedPostgres,
) -> None:
    insert(server, 1)
    pid = postmaster(server)
    os.kill(parent(pid), signal.SIGKILL)
    until(lambda: ended(pid), "the server ends by itself")
    insert(server, 2)
    assert kept(server) == [1, 2]


def test_supervisor_and_server_killed_at_once_come_back(server: EmbeddedPostgres) -> None:
    insert(server, 1)
    pid = postmaster(server)
    for victim in (parent(pid), pid):
        os.kill(victim, signal.SIGKILL)
    insert(server, 2)
    assert kept(server) == [1, 2]


def test_a_killed_client_does_not_keep_the_server(data_dir: Path) -> None:
    client = start_client(data_dir)
    wait_for_start(client)
    pid = postmaster(EmbeddedPostgres(data_dir))
    client.kill()
    client.communicate()
    until(lambda: ended(pid), "the server ends")


def test_a_supervisor_that_is_told_to_end_stops_the_server_cleanly(
    server: EmbeddedPostgres,
) -> None:
    pid = postmaster(server)
    os.kill(parent(pid), signal.SIGTERM)
    until(lambda: ended(pid), "the server ends")
    assert "database system is shut down" in server.layout.log.read_text()
    insert(server, 1)  # a client that still needs it starts it again


def test_clients_that_start_together_share_one_server(data_dir: Path) -> None:
    clients = [start_client(data_dir) for _ in range(4)]
    for client in clients:
        wait_for_start(client)
    pid = postmaster(EmbeddedPostgres(data_dir))
    log = EmbeddedPostgres(data_dir).layout.log.read_text()
    assert log.count(f"[{pid}] LOG:  starting PostgreSQL") == 1
    for client in clients[:-1]:
        end(client)
    assert not ended(pid)
    end(clients[-1])
    until(lambda: ended(pid), "the server ends with its last client")


def test_a_client_that_comes_while_the_server_stops_gets_a_new_one(data_dir: Path) -> None:
    for number in range(3):
        server = EmbeddedPostgres(data_dir)
        server.start()
        insert(server, number)
        server.close()  # the next round begins while this server is stopping
    server.start()
    assert kept(server) == [0, 1, 2]
    server.close()


def test_a_data_directory_that_is_removed_ends_its_server(data_dir: Path) -> None:
    server = EmbeddedPostgres(data_dir)
    server.start()
    pid = postmaster(server)
    shutil.rmtree(data_dir)
    until(lambda: ended(pid), "the server ends")
    server.close()
