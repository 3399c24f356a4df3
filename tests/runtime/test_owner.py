"""Whether the process that runs a run still lives (EX-3)."""

import subprocess
import sys

from pml.runtime.owner import alive, this_process

PRINT_OWNER = "from pml.runtime.owner import this_process; print(this_process()); input()"


def test_a_process_lives_in_its_own_eyes() -> None:
    assert alive(this_process())


def test_another_process_lives_until_it_ends() -> None:
    with subprocess.Popen(
        [sys.executable, "-c", PRINT_OWNER],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as other:
        assert other.stdout is not None
        owner = other.stdout.readline().strip()
        assert alive(owner)
        other.kill()
        other.wait()
        assert not alive(owner)


def test_a_process_id_that_was_used_again_is_another_owner() -> None:
    host, boot, namespace, pid, started = this_process().split("/")
    assert not alive("/".join([host, boot, namespace, pid, str(int(started) - 1)]))


def test_no_process_outlives_a_restart_of_the_machine() -> None:
    host, _, namespace, pid, started = this_process().split("/")
    assert not alive(f"{host}/another-boot/{namespace}/{pid}/{started}")


def test_a_process_that_cannot_be_seen_from_here_counts_as_alive() -> None:
    host, boot, _, pid, started = this_process().split("/")
    assert alive(f"elsewhere/{boot}/1/{pid}/{started}")
    assert alive(f"{host}/{boot}/1/{pid}/{started}")
