"""Where the embedded PostgreSQL keeps its files, and the settings that it runs with."""

from dataclasses import dataclass
from pathlib import Path

MAJOR_VERSION = 18
SOCKET_NAME = ".s.PGSQL.5432"

CLUSTER_PATH = "/proc/self/cwd"
"""What `postgres` is told its data directory is.

Its working directory is set before the account is changed, and every process of the server
keeps it.  So the directory may lie under parents that the account cannot enter (root's home,
a private temporary directory), nobody's permissions are opened, and the path of the socket
is never too long.
"""

SETTINGS = {
    "cluster_name": "pml",  # marks our own processes, also in `ps`
    "listen_addresses": "",  # no TCP
    "unix_socket_directories": CLUSTER_PATH,
    "unix_socket_permissions": "0700",
    "max_connections": "60",
    "shared_buffers": "32MB",
    "max_wal_size": "256MB",
    "wal_level": "minimal",
    "max_wal_senders": "0",
    "max_logical_replication_workers": "0",
    "io_method": "sync",  # no I/O worker processes
    "huge_pages": "off",
    "jit": "off",
    "fsync": "on",
    "synchronous_commit": "on",
    "timezone": "UTC",
    "log_timezone": "UTC",
    "lc_messages": "C",  # the supervisor reads the log
    "log_checkpoints": "off",
    "logging_collector": "off",
}


@dataclass(frozen=True, slots=True)
class Layout:
    """Files of one embedded server, all under ``base``."""

    base: Path

    @property
    def cluster(self) -> Path:
        """PostgreSQL's data directory; it exists only when it is complete."""
        return self.base / f"cluster-{MAJOR_VERSION}"

    @property
    def socket_lock(self) -> Path:
        """PostgreSQL's lock on its socket, in the same form as the pid file."""
        return self.cluster / f"{SOCKET_NAME}.lock"

    @property
    def pid_file(self) -> Path:
        """PostgreSQL's own lock: who runs on the cluster, and in which state."""
        return self.cluster / "postmaster.pid"

    @property
    def log(self) -> Path:
        """PostgreSQL's log; the older half is beside it with the suffix ``.1``."""
        return self.base / "postgres.log"

    @property
    def supervisor_lock(self) -> Path:
        """Held by the supervisor as long as it lives."""
        return self.base / "supervisor.lock"

    @property
    def lease_lock(self) -> Path:
        """Held, shared, by every client; when none is left the server stops."""
        return self.base / "lease.lock"

    @property
    def start_lock(self) -> Path:
        """Held by the client that starts a supervisor."""
        return self.base / "start.lock"
