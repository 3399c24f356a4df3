"""`pml continue`, `pml abort` and `pml replan`: what can be said to a run that waits (EX-5)."""

from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from pml.cli.answers import Where, owner, steered, tell
from pml.cli.exits import ExitCode
from pml.cli.options import AsJson, Config, DataDir, Permissions, Quiet, RunId, example
from pml.cli.programs import json_object, read_dag, read_source
from pml.cli.session import run

if TYPE_CHECKING:
    from pml.domain.response import ExecuteResponse
    from pml.domain.steering import Resolution
    from pml.serve.compose import Workbench


def register(app: typer.Typer) -> None:
    """Add the commands to ``app``."""
    app.command(
        "continue",
        **example(
            "pml continue 3f2a91bc",
            "pml continue 3f2a91bc --resolve n2=retry --resolve n5=skip",
            "pml continue 3f2a91bc --resolve 'n2=result:{\"number\": 7}'",
        ),
    )(continue_)
    app.command(**example("pml abort 3f2a91bc", 'pml abort 3f2a91bc --reason "wrong folder"'))(
        abort
    )
    app.command(
        **example(
            "pml replan 3f2a91bc --code-file rest.ts",
            "echo 'return context.n1.length' | pml replan 3f2a91bc --code-file -",
        )
    )(replan)


def continue_(
    *,
    run_id: RunId,
    checkpoint: Annotated[
        str | None,
        typer.Option(
            metavar="ID",
            help="Only if the run waits at this one (checkpointId); else nothing happens.",
        ),
    ] = None,
    resolve: Annotated[
        list[str] | None,
        typer.Option(
            metavar="CALL=ACTION",
            help="What becomes of a write in doubt: `retry` sends it once more, `result:JSON` "
            "gives the code that result, `skip` lets it fail in the code.  One for each.",
        ),
    ] = None,
    config: Config = None,
    permissions: Permissions = None,
    data_dir: DataDir = None,
    as_json: AsJson = False,
    quiet: Quiet = False,
) -> None:
    """Let a run go on that waits after a layer, was interrupted, or is in doubt.

    Nothing that it has done is done again: it is replayed from its log up to where it stood.
    """
    from pml.domain.steering import ContinueRequest
    from pml.errors import RequestError

    resolutions = tuple(_resolutions(resolve or ()))

    async def go_on(bench: "Workbench", root: str) -> "ExecuteResponse":
        if resolutions and (await bench.steering.status(root)).status == "layer_complete":
            message = "--resolve: the run is not in doubt; without it, the next layer goes"
            raise RequestError(message)
        request = ContinueRequest(
            workflow_id=root, checkpoint_id=checkpoint, resolutions=resolutions
        )
        return await bench.steering.go_on(request, by=owner())

    where = Where(config=config, permissions=permissions, data_dir=data_dir)
    response, learned = run(steered(run_id, go_on, where, quiet=quiet))
    raise typer.Exit(tell(response, where.given(), as_json=as_json, learned=learned))


def _resolutions(texts: Iterable[str]) -> "Iterable[Resolution]":
    import msgspec

    from pml.domain.steering import DoubtAction, Resolution

    for text in texts:
        task, found, rest = text.partition("=")
        word, _, detail = rest.partition(":")
        if not found or word not in list(DoubtAction):
            message = (
                f"--resolve: expected CALL=retry, CALL=skip or CALL=result:JSON, such as "
                f"n2=retry; found {text!r}"
            )
            raise typer.BadParameter(message)
        if word != DoubtAction.RESULT:
            yield Resolution(task_id=task, action=DoubtAction(word), message=detail)
            continue
        try:
            value = msgspec.json.decode(detail)
        except (msgspec.DecodeError, RecursionError) as exc:
            message = f"--resolve: {task}=result: expected JSON after it; found {detail!r}: {exc}"
            raise typer.BadParameter(message) from exc
        yield Resolution(task_id=task, action=DoubtAction.RESULT, result=value)


def abort(
    *,
    run_id: RunId,
    reason: Annotated[str, typer.Option(metavar="TEXT", help="Why, for whoever looks back.")] = "",
    config: Config = None,
    permissions: Permissions = None,
    data_dir: DataDir = None,
    as_json: AsJson = False,
) -> None:
    """End a run: one that waits at once, one that runs by stopping it.

    A write that was under way leaves it in doubt; abort it again to give that up.
    """
    from pml.domain.steering import AbortRequest

    async def end(bench: "Workbench", root: str) -> "ExecuteResponse":
        return await bench.steering.abort(AbortRequest(workflow_id=root, reason=reason), by=owner())

    where = Where(config=config, permissions=permissions, data_dir=data_dir)
    response, _ = run(steered(run_id, end, where, quiet=True))
    code = tell(response, where.given(), as_json=as_json)
    raise typer.Exit(ExitCode.OK if response.status == "aborted" else code)


def replan(
    *,
    run_id: RunId,
    code_file: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="The code that goes on; - reads it from stdin."),
    ] = None,
    dag_file: Annotated[
        Path | None, typer.Option(metavar="FILE", help="An explicit DAG as JSON instead.")
    ] = None,
    intent: Annotated[
        str | None, typer.Option(metavar="TEXT", help="Default: that of the run.")
    ] = None,
    args: Annotated[
        str, typer.Option(metavar="JSON", help="The new code's `args`, one JSON object.")
    ] = "{}",
    timeout_ms: Annotated[
        int, typer.Option("--timeout", metavar="MS", min=1, help="Deadline of the new run.")
    ] = 30_000,
    per_layer: Annotated[
        bool | None,
        typer.Option(
            "--per-layer/--at-once",
            help="Whether the new run stops after each layer.  Default: as the old one.",
        ),
    ] = None,
    config: Config = None,
    permissions: Permissions = None,
    data_dir: DataDir = None,
    as_json: AsJson = False,
    quiet: Quiet = False,
) -> None:
    """End a run that waits and go on with other code, which sees its results as `context`.

    `context.n1` is what call n1 returned.  The new code is a run of its own; `pml trace` of
    either names the other.
    """
    from pml.domain.steering import ReplanRequest

    if (code_file is None) == (dag_file is None):
        message = "give either --code-file or --dag-file"
        raise typer.BadParameter(message)
    source = None if code_file is None else read_source(code_file)
    dag = None if dag_file is None else read_dag(dag_file)
    arguments = json_object(args)

    async def again(bench: "Workbench", root: str) -> "ExecuteResponse":
        request = ReplanRequest(
            workflow_id=root,
            intent=intent,
            code=source,
            dag=dag,
            args=arguments,
            timeout_ms=timeout_ms,
            per_layer_validation=per_layer,
        )
        return await bench.steering.replan(request, by=owner())

    where = Where(config=config, permissions=permissions, data_dir=data_dir)
    response, learned = run(steered(run_id, again, where, quiet=quiet))
    name = str(code_file or dag_file)
    code = tell(
        response, where.given(), as_json=as_json, learned=learned, source=source or "", name=name
    )
    raise typer.Exit(code)
