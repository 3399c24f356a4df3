"""The commands of tutorial and how-to pages do what the pages say, in order (OP-1, OP-2).

A page's console blocks are run in a folder made for it, with the programs that the page
shows.  `make demo` and what the README shows is run by test_readme.py.
"""

import json
import os
import re
import shlex
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import polars as pl
import pytest
import yaml
from mlflow.entities import Run

from pml.cli.demo_scene import fetch_files_server, npm_cache
from pml.evaluation.sample.errands import errands as sampled
from pml.evaluation.saving import save
from pml.runtime.sandbox.tier import find_deno
from pml.tracking.mlflow_registry import Registry
from pml.tracking.mlflow_runs import Tracking, open_tracking
from pml.workspace.layout import MODEL_NAME
from pml.workspace.parameters import parameters_of
from pml.workspace.tuning import space_of
from tests.tracking.packages import a_file

ROOT = Path(__file__).parents[2]
BIN = Path(sys.executable).parent
CONSOLE = re.compile(r"^ *```console\n(.*?)^ *```", re.DOTALL | re.MULTILINE)
PROGRAM = re.compile(r"^ *```ts\n(.*?)^ *```", re.DOTALL | re.MULTILINE)
LISTING = re.compile(r"^```python\n(.*?)^```", re.DOTALL | re.MULTILINE)
SHOWN = re.compile(r"^```text\n(.*?)^```", re.DOTALL | re.MULTILINE)
COMMAND_TIMEOUT_S = 60
TRACES = ("traces", "again")


def commands_of(page: str) -> list[list[str]]:
    """The words of each command of a page, in order."""
    text = (ROOT / "docs" / page).read_text(encoding="utf-8")
    lines = "\n".join(CONSOLE.findall(text)).replace("\\\n", " ").split("\n")
    found = [line.strip() for line in lines]
    assert all(line.startswith("$ ") for line in found if line)
    return [shlex.split(line[2:], comments=True) for line in found if line]


def programs_of(page: str) -> list[str]:
    return PROGRAM.findall((ROOT / "docs" / page).read_text(encoding="utf-8"))


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A checkout as the pages expect it, and the notes that they read."""
    fetch_files_server()
    for name in ("examples", ".venv"):
        (tmp_path / name).symlink_to(BIN.parent if name == ".venv" else ROOT / name)
    (tmp_path / "docs").mkdir()
    for name in ("today.md", "tomorrow.md", "README.md"):
        (tmp_path / name).write_text(f"# {name}\n- [ ] write\n- [x] read\n")
    return tmp_path


@pytest.fixture
def environment(folder: Path) -> dict[str, str]:
    ours = {name: value for name, value in os.environ.items() if not name.startswith("PML_")}
    return {
        **ours,
        "HOME": str(folder / "home"),
        "XDG_CONFIG_HOME": str(folder / "home" / ".config"),
        "PATH": f"{BIN}{os.pathsep}{ours['PATH']}",
        "PML_DATA_DIR": str(folder / "data"),
        "PML_DEMO_DENO": str(find_deno()),
        "PML_DEMO_DENO_DIR": str(npm_cache()),
        "PML_DEMO_REPOSITORY": str(folder),
        "PML_DEMO_REPORTS": str(folder / "pml-demo"),
    }


@pytest.fixture
def servers(folder: Path) -> Path:
    """mcp.json and permissions.yaml of the demo, and a Claude Desktop that has a server."""
    for name in ("mcp.json", "permissions.yaml"):
        shutil.copy(ROOT / "examples" / "demo" / name, folder / name)
    desktop = folder / "home" / ".config" / "Claude" / "claude_desktop_config.json"
    desktop.parent.mkdir(parents=True)
    clock = {"command": sys.executable, "args": ["-m", "mcp_server_time"]}
    desktop.write_text(json.dumps({"mcpServers": {"clock": clock}}))
    return folder


def run_all(
    commands: Iterator[list[str]] | list[list[str]], folder: Path, env: dict[str, str]
) -> dict[str, str]:
    """What each command printed; every one has to succeed."""
    printed = {}
    for words in commands:
        if words == ["pml", "serve"]:
            printed["pml serve"] = serve_a_moment(folder, env)
            continue
        into = words[-1] if words[-2:-1] == [">"] else None
        done = subprocess.run(
            words if into is None else words[:-2],
            cwd=folder,
            env=env,
            capture_output=True,
            text=True,
            timeout=COMMAND_TIMEOUT_S,
            check=False,
        )
        assert done.returncode == 0, f"{shlex.join(words)}: {done.stdout}{done.stderr}"
        printed[shlex.join(words)] = done.stdout
        if into is not None:
            (folder / into).write_text(done.stdout)
    return printed


def serve_a_moment(folder: Path, env: dict[str, str]) -> str:
    """Start `pml serve` on a free port, wait until it listens, and stop it with Ctrl-C."""
    command = ["pml", "serve", "--port", "0"]
    with subprocess.Popen(
        command, cwd=folder, env=env, stderr=subprocess.PIPE, text=True
    ) as server:
        assert server.stderr is not None
        line = next((text for text in server.stderr if "listening at" in text), "")
        server.send_signal(signal.SIGINT)
        assert "Traceback" not in server.stderr.read()
    assert server.returncode == 0
    return line


def test_the_tutorial_does_what_it_says(folder: Path, environment: dict[str, str]) -> None:
    page = "tutorial/first-run.md"
    (folder / "hello.ts").write_text(programs_of(page)[0])
    first, *others = commands_of(page)
    assert first == ["make", "demo"]  # see test_readme.py

    (folder / "demo.ts").write_text("return 'stands for make demo';")
    run_all([["pml", "execute", "--intent", "demo", "--code-file", "demo.ts"]], folder, environment)
    printed = run_all(others, folder, environment)

    again = next(text for words, text in printed.items() if "Asia/Tokyo" in words)
    assert "ran what was known as capabilities.say_hello" in again
    assert "+09:00: no README here" in again


def test_an_agent_is_connected_as_the_page_says(servers: Path, environment: dict[str, str]) -> None:
    (servers / "notes.ts").write_text(
        "const note = await mcp.files.read_text_file({ path: args.path });\n"
        'return note.content.split("\\n").length;\n'
    )
    commands = [
        [word.replace("/home/me/notes", str(servers)) for word in words]
        for words in commands_of("how-to/connect-an-agent.md")
    ]

    printed = run_all(commands, servers, environment)

    assert "clock" in printed["pml servers"]
    assert "listening at http://127.0.0.1:" in printed["pml serve"]
    assert "ran what was known as" in list(printed.values())[-1]


def test_own_servers_are_used_as_the_page_says(servers: Path, environment: dict[str, str]) -> None:
    page = "how-to/own-servers.md"
    (servers / "program.ts").write_text(programs_of(page)[0])
    commands = [
        [word.replace("/home/me/notes", str(servers)) for word in words]
        for words in commands_of(page)
    ]

    printed = run_all(commands, servers, environment)

    assert "- [ ] write" in next(text for words, text in printed.items() if "execute" in words)


def test_an_editor_gets_its_types_as_the_page_says(
    servers: Path, environment: dict[str, str]
) -> None:
    page = "how-to/types-for-your-editor.md"
    (servers / "count.ts").write_text(programs_of(page)[0])

    printed = run_all(commands_of(page), servers, environment)

    assert "read_text_file(args: {" in (servers / "pml.d.ts").read_text()
    assert "mcp.files.read_" in next(text for words, text in printed.items() if "discover" in words)


def test_traces_are_handed_on_as_the_page_says(servers: Path, environment: dict[str, str]) -> None:
    """RW-5: of a real run, with a real database; what it read is nowhere in the files."""
    (servers / "read.ts").write_text(
        f"return await mcp.files.read_text_file({{ path: {str(servers / 'today.md')!r} }});"
    )
    run_all(
        [["pml", "execute", "--intent", "read what is due today", "--code-file", "read.ts"]],
        servers,
        environment,
    )

    printed = run_all(commands_of("how-to/export-traces.md"), servers, environment)

    first, again = (pl.read_parquet(servers / name / "traces.parquet") for name in TRACES)
    assert first.to_dicts() == again.to_dicts()
    assert first["task_results"].list.len().to_list() == [1]
    for path in servers.glob("traces/*.parquet"):
        assert "today.md" not in str(pl.read_parquet(path).to_dicts())
    assert "team-a: 0 new traces" in printed["pml import-traces traces/ --name team-a"]
    assert printed["pml import-traces --forget team-a"] == "forgot 1 trace of team-a\n"


def test_methods_are_compared_as_the_page_says(tmp_path: Path) -> None:
    """RW-6: with the page's own method, and its lines of Python."""
    page = "how-to/evaluate.md"
    method, lines = LISTING.findall((ROOT / "docs" / page).read_text(encoding="utf-8"))
    (tmp_path / "data").symlink_to(ROOT / "data")
    (tmp_path / "shortest.py").write_text(method)
    env = {**os.environ, "PATH": f"{BIN}{os.pathsep}{os.environ['PATH']}", "COLUMNS": "80"}

    first, _, _, own = run_all(commands_of(page), tmp_path, env).values()
    shown = run_all([["python", "-c", lines]], tmp_path, env)

    block = next(text for text in SHOWN.findall((ROOT / "docs" / page).read_text("utf-8")))
    assert block in first
    assert "shortest description" in own
    assert (tmp_path / "report" / "report.html").exists()
    assert list(shown.values()) == ["103 intents\n"]


@pytest.fixture
def small(tmp_path: Path, environment: dict[str, str]) -> dict[str, str]:
    """A folder with a small data set under the name that the pages say, and its environment."""
    errands = tmp_path / "data" / "errands"
    save(sampled(7, n_requests=60, n_runs=40), errands)
    return environment | {"COLUMNS": "80", "OMP_NUM_THREADS": "1"}


def test_a_model_is_trained_and_packaged_as_the_page_says(
    tmp_path: Path, small: dict[str, str]
) -> None:
    """LE-5, LE-7.  What the page says of DVC is run by test_pipeline.py."""
    page = "how-to/train.md"
    commands = [words for words in commands_of(page) if words[0] == "pml"]

    trained, _, checked = run_all(commands, tmp_path, small).values()

    (block,) = SHOWN.findall((ROOT / "docs" / page).read_text("utf-8"))
    names = [line.partition("  ")[0] for line in block.split("\n")[:5]]
    assert [line.partition("  ")[0] for line in trained.split("\n")[4:9]] == names
    assert "checksums fit" in checked


def test_runs_and_models_are_kept_as_the_page_says(tmp_path: Path, small: dict[str, str]) -> None:
    """RW-3, LE-7: with three versions in the registry, as after three runs of the pipeline."""
    commands = commands_of("how-to/track-experiments.md")
    first, evaluated, listed, promote, rollback, get = commands
    run_all([[*first, "--quiet"], [*evaluated, "--methods", "bm25"]], tmp_path, small)
    tracking = open_tracking(tmp_path / "tracking", lambda: 0)
    kinds = {run.data.tags["kind"]: run.info.run_id for run in runs_of(tracking)}
    registry = Registry(tracking, MODEL_NAME)
    for model in (b"first", b"second", b"third"):
        registry.register(kinds["training"], a_file(model=model), ())
    registry.promote(2)

    printed = run_all([listed, promote, rollback, get], tmp_path, small)

    assert kinds.keys() == {"training", "evaluation"}
    assert "champion" in printed["pml models promote 3"]
    assert printed["pml models rollback"].split("\n")[1].startswith("2")
    assert (tmp_path / "champion.pml").read_bytes() == a_file(model=b"second")


def runs_of(tracking: Tracking) -> list[Run]:
    return list(tracking.client.search_runs([tracking.experiment_id]))


def test_parameters_are_searched_for_as_the_page_says(
    tmp_path: Path, small: dict[str, str]
) -> None:
    """RW-4: with two and three trials; the second call goes on with the study."""
    page = "how-to/tune.md"
    (tmp_path / "params.yaml").write_text("train: {epochs: 1}\n")
    fewer = {"30": "2", "60": "4"}
    commands = [[fewer.get(word, word) for word in words] for words in commands_of(page)]

    first, second = run_all(
        [[*words, "--params", "params.yaml"] for words in commands], tmp_path, small
    ).values()

    assert "study 'wide': " in first
    assert int(second.split()[2]) >= 4
    (listing,) = re.findall(r"```yaml\n(.*?)```", (ROOT / "docs" / page).read_text(), re.DOTALL)
    shown = space_of(parameters_of(yaml.safe_load(listing), page))
    assert shown.keys() == {"train.learning_rate", "model.heads"}
