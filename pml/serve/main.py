"""`pml-serve`: will offer PML to agents as an MCP endpoint, and to people as a web page."""

import sys

UNAVAILABLE = 6
"""As `pml`'s exit code of that name (docs/reference/cli.md)."""


def main() -> None:
    """Say what there is instead of an endpoint, and exit with ``UNAVAILABLE``."""
    sys.stderr.write(
        "pml-serve: the MCP endpoint is not built yet; it comes with the next release.\n"
        "Until then `pml execute` runs programs from the command line: `pml execute --help`.\n"
    )
    sys.exit(UNAVAILABLE)
