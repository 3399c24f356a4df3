"""What data sets teach an encoder: the texts of their tools, and the requests of training splits.

Nothing of another split is read.  Where a workflow says which tool was asked for, the others are
what that one depends on: the intent does not speak of them.
"""

from collections.abc import Iterator, Mapping, Sequence

from pml.embedding.pairs import Corpus, Request, ToolText
from pml.evaluation.dataset import TRAIN, Dataset, Tool


def corpus_of(datasets: Sequence[Dataset], overviews: Mapping[str, str] | None = None) -> Corpus:
    """Everything that these sets may teach.

    Args:
        datasets: With different names.
        overviews: What servers say of themselves, by server.
    """
    return Corpus(
        tools=tuple(_tool(data.name, tool) for data in datasets for tool in data.tools),
        requests=tuple(request for data in datasets for request in _requests(data)),
        overviews=overviews or {},
    )


def _tool(dataset: str, tool: Tool) -> ToolText:
    properties = (tool.input_schema or {}).get("properties")
    properties = properties if isinstance(properties, dict) else {}
    described = [one.get("description") for one in properties.values() if isinstance(one, dict)]
    return ToolText(
        id=f"{dataset}/{tool.id}",
        server=tool.server,
        name=tool.name,
        description=tool.description,
        parameters=tuple(properties),
        parameter_texts=tuple(text for text in described if isinstance(text, str) and text),
    )


def _requests(dataset: Dataset) -> Iterator[Request]:
    for workflow in dataset.split(TRAIN):
        used = workflow.nodes if workflow.main_tool is None else (workflow.main_tool,)
        tools = tuple(f"{dataset.name}/{node}" for node in dict.fromkeys(used))
        yield Request(intent=workflow.intent, tools=tools)
