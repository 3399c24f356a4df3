"""Puts the real output of commands into README.md; a test keeps what is stable of it true.

Run ``.venv/bin/python docs/readme_output.py`` after a change to the demo, to the evaluation or to
what they show.
"""

import os
import re
import shlex
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).parents[1]
PML = Path(sys.executable).with_name("pml")
CUT = "[...]"
SHOWN = ("2. ", "6. ", "7. ", "8. ", "9. ", "Where ")
"""Beginnings of the sections that the README shows; the others are cut."""
TIMES = re.compile(r"\b[\d.]+ m?s\b|, speed-up [\d.]+")
BLOCK = re.compile(r"(?<=\$ make demo\n).*?(?=```)", re.DOTALL)
METHODS = "bm25,tfidf,popularity,knn20 past intents,pml,pml without recall"
EVALUATE = f'pml evaluate data/errands --tasks tools --methods "{METHODS}"'
EVALUATION = re.compile(rf"(?<=\$ {re.escape(EVALUATE)}\n).*?(?=```)", re.DOTALL)
TRAINING = re.compile(r"(?<=\$ pml train data/errands\n).*?(?=```)", re.DOTALL)


def demo(data_dir: Path, folder: Path = ROOT) -> str:
    """What a fresh demo prints, over this checkout, started in ``folder``.

    Raises:
        subprocess.CalledProcessError: it failed.
    """
    command = [str(PML), "demo", "--repository", str(ROOT), "--data-dir", str(data_dir)]
    done = subprocess.run(  # noqa: S603  # our own command
        command, cwd=folder, text=True, stdout=subprocess.PIPE, check=True
    )
    return done.stdout


def evaluation() -> str:
    """What `EVALUATE` prints into a terminal of usual width, without how long it took.

    Raises:
        subprocess.CalledProcessError: it failed.
    """
    done = subprocess.run(  # noqa: S603  # our own command
        [str(PML), *shlex.split(EVALUATE)[1:]],
        cwd=ROOT,
        env={**os.environ, "COLUMNS": "80"},
        text=True,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,  # progress
        check=True,
    )
    return done.stdout.rstrip().rpartition("\n")[0] + "\n"


def training(folder: Path, *options: str) -> str:
    """What `pml train` prints, without where it wrote; its files are left in ``folder``.

    Raises:
        subprocess.CalledProcessError: it failed.
    """
    out = ["--out", str(folder / "shgat.safetensors"), "--quiet", *options]
    done = subprocess.run(  # noqa: S603  # our own command
        [str(PML), "train", "data/errands", *out],
        cwd=ROOT,
        text=True,
        stdout=subprocess.PIPE,
        check=True,
    )
    return done.stdout.rpartition("\n\n")[0] + "\n"


def labels(trained: str) -> list[str]:
    """What of `training` is the same on every machine: what was learned from, and the rows' names.

    Figures differ in the last digits between processors.
    """
    lines = trained.split("\n")
    return [*lines[:2], *(line.partition("  ")[0] for line in lines[3:9])]


def excerpt(output: str) -> str:
    """The sections that the README shows, with a mark for each cut."""
    sections = output.strip().split("\n\n")
    kept: list[str] = [sections[0]]
    showing = False
    for section in sections[1:]:
        if re.match(r"\d\. |Where ", section):
            showing = section.startswith(SHOWN)
        if showing:
            kept.append(section)
        elif kept[-1] != CUT:
            kept.append(CUT)
    return "\n\n".join(kept) + "\n"


def stable(shown: str) -> list[str]:
    """The lines of an excerpt that do not depend on the machine, the day or the history."""
    return TIMES.sub("", shown.partition("\nWhere ")[0]).split("\n")


if __name__ == "__main__":
    readme = ROOT / "README.md"
    with tempfile.TemporaryDirectory() as folder:
        demo(Path(folder) / "warm-up")  # fills caches; nothing is known after it
        fresh = demo(Path(folder) / "data")
        trained = training(Path(folder))
    text = re.sub(r" --data-dir \S+", "", excerpt(fresh))
    page = BLOCK.sub(lambda _: text, readme.read_text("utf-8"), count=1)
    page = EVALUATION.sub(lambda _: evaluation(), page, count=1)
    readme.write_text(TRAINING.sub(lambda _: trained, page, count=1), "utf-8")
