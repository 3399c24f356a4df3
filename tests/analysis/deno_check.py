"""Asks TypeScript itself, through `deno check`, whether a text type-checks."""

import subprocess
from pathlib import Path

from pml.runtime.sandbox.tier import find_deno

_TIMEOUT_S = 60


def problems(text: str, folder: Path) -> str:
    """What `deno check` says against a module; empty where it says nothing."""
    module = folder / "module.ts"
    module.write_text(text, encoding="utf-8")
    done = subprocess.run(
        [str(find_deno()), "check", "--quiet", "--no-config", "--no-lock", str(module)],
        env={"DENO_DIR": str(folder / "deno"), "NO_COLOR": "1", "DENO_NO_UPDATE_CHECK": "1"},
        capture_output=True,
        text=True,
        timeout=_TIMEOUT_S,
        check=False,
    )
    return "" if done.returncode == 0 else done.stdout + done.stderr
