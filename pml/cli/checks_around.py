"""What `pml doctor` looks at around PML: encoder, port, and the clients that may use it."""

import shutil
from collections.abc import Iterator
from typing import Any

from pml.cli.check import Check, failed, noted, ok
from pml.cli.clients import (
    Client,
    ClientFile,
    Machine,
    command_words,
    files_of,
    is_pml,
    servers_in,
)
from pml.cli.ports import DEFAULT_PORT, LOOPBACK, bind_fault, holder, pml_at
from pml.errors import PmlError
from pml.serve.compose import Settings


def check_encoder(settings: Settings) -> Check:
    """Load the encoder; takes seconds where PML_ENCODER names a large one."""
    from pml.embedding.choosing import chosen_encoder

    try:
        encoder = chosen_encoder(settings.encoder)
    except PmlError as exc:
        mend = "name a model that is there, or unset PML_ENCODER: PML brings an encoder of its own"
        return failed("encoder", str(exc), mend)
    if encoder is None:
        return ok("encoder", "none (PML_ENCODER says so): search goes by words")
    shipped = "" if settings.encoder else ", which PML brings"
    return ok("encoder", f"{encoder.name}{shipped}")


def check_port() -> Check:
    """Whether `pml serve` could listen at its default port, or does."""
    name = f"port {DEFAULT_PORT}"
    if bind_fault(LOOPBACK, DEFAULT_PORT) is None:
        return ok(name, "free for `pml serve`")
    version = pml_at(DEFAULT_PORT)
    if version is not None:
        return ok(name, f"`pml serve` {version} listens there")
    mend = "start it as `pml serve --port PORT`, and tell clients: `pml client-config --port PORT`"
    who = holder(DEFAULT_PORT) or "another program"
    return noted(name, f"taken by {who}, so not for `pml serve`", mend)


def check_clients(machine: Machine) -> Iterator[Check]:
    """One check per client that has a configuration on this machine."""
    found = False
    for client in Client:
        files = [file for file in files_of(client, machine) if file.path.is_file()]
        if files:
            found = True
            yield _client(client, files)
    if not found:
        yield ok("clients", "no configuration of Claude, Cursor or VS Code here")


def _client(client: Client, files: list[ClientFile]) -> Check:
    name, anew = f"client {client}", f"`pml client-config {client}` prints what it needs"
    try:
        entries = [(file.path, entry) for file in files for entry in _own_entries(file)]
    except PmlError as exc:
        return failed(name, str(exc), "mend the file, or remove it")
    if not entries:
        return noted(name, f"{client.called} does not know PML ({files[-1].path})", anew)
    path, entry = entries[0]
    words = command_words(entry)
    if words and shutil.which(words[0]) is None:
        return failed(name, f"{path} starts {words[0]}, which is not there", anew)
    started = " ".join(words) or str(entry.get("url"))
    return ok(name, f"{client.called} has PML: {started}")


def _own_entries(file: ClientFile) -> Iterator[dict[str, Any]]:
    for entry in servers_in(file).values():
        if is_pml(entry, port=DEFAULT_PORT):
            yield entry
