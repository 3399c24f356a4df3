"""What the demo needs before it starts: repositories, a folder for reports, the npm server."""

import os
import shutil
import subprocess
import sys
from collections.abc import Sequence
from datetime import date, timedelta
from pathlib import Path

import platformdirs

from pml.domain.record import Record
from pml.errors import ConfigError, UpstreamUnavailableError
from pml.runtime.sandbox.tier import find_deno

FILES_SERVER = "npm:@modelcontextprotocol/server-filesystem@2026.8.31"
"""As in examples/demo/mcp.json."""
HISTORY, FILES = "history.ts", "files.ts"
FETCH_TIMEOUT_S = 180
"""For 40 MB over a slow line, once."""
GIT_TIMEOUT_S = 30


FIRST_COMMIT = date(2025, 1, 6)
COMMITS_APART = timedelta(weeks=9)
PERIOD = "2025-04-01"
"""Half of a sample's commits are younger."""


class Words(Record, frozen=True, kw_only=True):
    """One intent, said in three ways."""

    intent: str
    question: str
    """What the program is searched by: other words."""
    again: str
    """The same phrases in another order, politely: close enough to run what is known."""


WORDS = {
    HISTORY: Words(
        intent="report what happened in the repository",
        question="write up what has been happening here",
        again="In the repository, report what happened, please.",
    ),
    FILES: Words(
        intent="report which files lie in the folder",
        question="which files are there in this folder?",
        again="In the folder, report which files lie, please.",
    ),
}


class Scene(Record, frozen=True, kw_only=True):
    """One demo: which program, over what."""

    files: Path
    """The folder with mcp.json, permissions.yaml and the programs."""
    program: str
    words: Words
    repository: Path
    reports: Path
    elsewhere: Path
    """Another folder for what was learned from the first."""
    remark: str = ""
    """Why it is not the history that was asked for; empty when it is."""

    @property
    def report(self) -> Path:
        """The file that the program writes."""
        return self.reports / "report.md"

    @property
    def arguments(self) -> dict[str, str]:
        """What the program is given."""
        return {"repository": str(self.repository), "report": str(self.report)}

    @property
    def other_arguments(self) -> dict[str, str]:
        """What the capability is given: another folder, and a period where it has one."""
        report = str(self.reports / "elsewhere.md")
        period = {"start_timestamp": PERIOD} if self.program == HISTORY else {}
        return {"repository": str(self.elsewhere), "report": report, **period}

    @property
    def source(self) -> str:
        """The program's text."""
        return (self.files / self.program).read_text(encoding="utf-8")

    def environment(self) -> dict[str, str]:
        """The variables of the demo's mcp.json."""
        return {
            "PML_DEMO_DENO": str(find_deno()),
            "PML_DEMO_PYTHON": sys.executable,
            "PML_DEMO_REPOSITORY": str(self.repository),
            "PML_DEMO_REPORTS": str(self.reports),
            "PML_DEMO_DENO_DIR": str(npm_cache()),
        }


def set_scene(repository: Path, reports: Path) -> Scene:
    """The history of ``repository`` where there is one, else the nearest thing.

    Raises:
        ConfigError: a folder cannot be used.
    """
    repository, reports = repository.resolve(), reports.resolve()
    if not repository.is_dir():
        raise ConfigError("--repository", f"{repository} is no folder")
    try:
        reports.mkdir(parents=True, exist_ok=True)
        for report in ("report.md", "elsewhere.md"):
            (reports / report).unlink(missing_ok=True)
    except OSError as exc:
        message = f"{reports} cannot be written ({exc.strerror}): choose a folder of your own"
        raise ConfigError("--output", message) from exc
    program, place, remark = _choose(repository, reports)
    return Scene(
        files=demo_files(),
        program=program,
        words=WORDS[program],
        repository=place,
        reports=reports,
        elsewhere=_sample_repository(reports / "elsewhere"),
        remark=remark,
    )


def demo_files() -> Path:
    """The folder with the demo's programs: inside the installed package, or in a checkout."""
    package = Path(__file__).parent.parent
    installed = package / "demo"
    return installed if installed.is_dir() else package.parent / "examples" / "demo"


def _choose(repository: Path, reports: Path) -> tuple[str, Path, str]:
    """Program, place, and a remark where that is not what was asked for."""
    if shutil.which("git") is None:
        return FILES, repository, "git is not installed, so the demo reads files instead."
    top = _git(repository, "rev-parse", "--show-toplevel")
    if top and _git(repository, "rev-parse", "HEAD"):
        return HISTORY, Path(top), ""
    sample = _sample_repository(reports / "sample")
    return HISTORY, sample, f"{repository} has no git history, so the demo made {sample}."


def _git(folder: Path, *arguments: str, at: str = "") -> str:
    """What git prints; empty when it fails or is not there.  ``at`` dates a commit."""
    if shutil.which("git") is None:
        return ""
    dates = {"GIT_AUTHOR_DATE": at, "GIT_COMMITTER_DATE": at} if at else {}
    command = ["git", "-c", "safe.directory=*", "-C", str(folder), *arguments]
    done = subprocess.run(  # noqa: S603  # fixed words and a folder that the user named
        command,
        capture_output=True,
        text=True,
        timeout=GIT_TIMEOUT_S,
        check=False,
        env={**os.environ, **dates},
    )
    return done.stdout.strip() if done.returncode == 0 else ""


def _sample_repository(folder: Path) -> Path:
    """A folder with a few commits, made the first time; without git only with the files."""
    if folder.is_dir():
        return folder
    folder.mkdir(parents=True)
    _git(folder, "init", "--quiet")
    texts = (("plan.md", "# Plan\n"), ("notes.md", "# Notes\n"), ("plan.md", "# Plan\n\nDone.\n"))
    for number, (name, text) in enumerate((*texts, ("readme.txt", "Where to begin.\n"))):
        (folder / name).write_text(text, encoding="utf-8")
        _git(folder, "add", name)
        when = f"{FIRST_COMMIT + number * COMMITS_APART}T12:00:00Z"
        who = ("-c", "user.name=PML demo", "-c", "user.email=demo@localhost")
        _git(folder, *who, "commit", "--quiet", "--message", f"Write {name}", at=when)
    return folder


def npm_cache() -> Path:
    """Where Deno keeps the npm package: beside the virtual environment's own packages."""
    prefix = Path(sys.prefix)
    place = prefix if os.access(prefix, os.W_OK) else platformdirs.user_cache_path("pml")
    return place / "deno-npm"


def fetch_files_server() -> None:
    """Download the npm package unless it is there already; takes 0.1 s then.

    Raises:
        UpstreamUnavailableError: it is not there and cannot be fetched.
    """
    environment = {**os.environ, "DENO_DIR": str(npm_cache()), "NO_COLOR": "1"}
    command: Sequence[str] = [str(find_deno()), "cache", "--quiet", "--no-config", FILES_SERVER]
    try:
        done = subprocess.run(  # noqa: S603  # our own Deno, a fixed package
            command,
            capture_output=True,
            text=True,
            env=environment,
            timeout=FETCH_TIMEOUT_S,
            check=False,
        )
        said = done.stderr.strip().split("\n")[0] if done.returncode else ""
    except subprocess.TimeoutExpired:
        said = f"no answer within {FETCH_TIMEOUT_S} s"
    if said:
        message = f"its package {FILES_SERVER} cannot be fetched ({said}): connect once and retry"
        raise UpstreamUnavailableError("files", message)
