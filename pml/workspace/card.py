"""The card of a model: what it is, what taught it, how good it was, what it is not for."""

from pml.models.exported import ExportedShgat
from pml.tracking.package import Manifest, TaskVerdict

_LEAST_P = 0.001
"""Smaller ones are not told apart."""


def card(manifest: Manifest, model: ExportedShgat) -> str:
    """In Markdown, for people."""
    nothing = "| - | - | - | - | - | no: too few requests |"
    verdicts = "\n".join(map(_row, manifest.verdicts)) or nothing
    listed = [f"- `{name}`: {value}" for name, value in sorted(manifest.parameters.items())]
    parameters = "\n".join(["## Parameters", "", *listed, "", ""]) if listed else ""
    return f"""\
# {manifest.name}

Ranks tools, capabilities and next tools for an intent (SHGAT, attention over tools and the
capabilities made of them).  Trained by PML {manifest.pml_version} with seed {manifest.seed}.

## What taught it

- Data set: SHA-256 `{manifest.data}`
- Graph: {len(model.graph.tools)} tools, {len(model.graph.capabilities)} capabilities,
  {len(model.graph.members)} memberships; identity `{manifest.graph}`
- Encoder: `{manifest.encoder}`

## How good it is

On requests that had no part in training; it is switched on where it beats the best simple
method, which serves elsewhere.

| task | model | simple method | | requests | switched on |
|---|---|---|---|---|---|
{verdicts}

Figures are mean {", ".join(sorted({each.metric for each in manifest.verdicts})) or "nDCG10"}.
{_of_new_servers(manifest)}
{parameters}## Limits

It knows the vectors of one encoder only: another one makes its scores meaningless.  Tools that it
never saw are ranked by text and features.  It says what was used for such intents before, not what
is right or allowed.
"""


def _of_new_servers(manifest: Manifest) -> str:
    """What the figures say beside; nothing where few tools are on servers that nobody used."""
    told = [
        f"for {each.task}, {each.cold_intents} such requests count {each.cold_share:.0%}"
        for each in manifest.verdicts
        if each.cold_share
    ]
    if not told:
        return ""
    return (
        "\nMany tools are on servers that nobody has used.  So models that were trained without\n"
        f"some other servers were asked requests for these as well: {'; '.join(told)}.\n"
    )


def _row(verdict: TaskVerdict) -> str:
    answer = "yes" if verdict.switched_on else "no"
    p = f"p = {verdict.p:.3f}" if verdict.p >= _LEAST_P else f"p < {_LEAST_P}"
    return (
        f"| {verdict.task} | {verdict.model:.3f} | {verdict.fallback_name} "
        f"| {verdict.fallback:.3f} | {verdict.intents} | {answer} ({p}) |"
    )
