"""Packages for tests."""

from pml.tracking.package import FORMAT, Manifest, Package, TaskVerdict, packed


def verdict(*, switched_on: bool, task: str = "tools") -> TaskVerdict:
    return TaskVerdict(
        task=task,
        metric="nDCG10",
        model=0.9 if switched_on else 0.7,
        fallback=0.8,
        fallback_name="votes",
        intents=40,
        p=0.01 if switched_on else 1.0,
        switched_on=switched_on,
    )


def a_package(
    *, switched_on: bool = True, model: bytes = b"arrays", data: str = "cd" * 32
) -> Package:
    manifest = Manifest(
        format=FORMAT,
        name="shgat",
        graph="ab" * 32,
        encoder="static@12",
        data=data,
        seed=7,
        pml_version="0.1.0",
        verdicts=(verdict(switched_on=switched_on),),
        parameters={"train.epochs": 3},
    )
    encoder = {"tokenizer.json": b"{}", "rows.npz": b"\x00\x01"}
    return Package(manifest=manifest, model=model, encoder=encoder, card="# A model\n")


def a_file(*, switched_on: bool = True, model: bytes = b"arrays", data: str = "cd" * 32) -> bytes:
    return packed(a_package(switched_on=switched_on, model=model, data=data))
