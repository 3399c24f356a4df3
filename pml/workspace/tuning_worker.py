"""``python -m pml.workspace.tuning_worker``: one process of a study; its work comes on stdin."""

import os
import sys
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import Any

from pml.domain.record import decode
from pml.store.studies import studies_url
from pml.tracking.study import Trial
from pml.workspace.layout import TRACKING
from pml.workspace.tuning import Telling, Work, opened, searched, trial_facts


def storage(work: Work, database_url: str | None) -> AbstractContextManager[str]:
    """A URL of the storage for this process.

    Raises:
        StoreError: the database cannot be had.
    """
    if work.storage is not None:
        return nullcontext(work.storage)
    return studies_url(url=database_url, data_dir=Path(work.data_dir))


def main() -> None:
    """Search until there are enough trials."""
    work = decode(Work, sys.stdin.read())
    database_url = os.environ.get("PML_DATABASE_URL") or None
    with storage(work, database_url) as url, opened(work, url) as study:
        searched(study, work, _telling(work))


def _telling(work: Work) -> Telling | None:
    if work.parent is None:
        return None
    from pml.workspace.telling import tracking  # noqa: PLC0415  # MLflow takes seconds

    opened_store = tracking(TRACKING)

    def tell(trial: Trial) -> AbstractContextManager[Any]:
        return opened_store.run(trial_facts(work, trial))

    return tell


if __name__ == "__main__":
    main()
