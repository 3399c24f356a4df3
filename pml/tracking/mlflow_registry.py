"""The registry of models in MLflow: versions, and the alias of the one that serves (LE-7, RW-3).

A version holds the bytes of a package, untouched.  The alias `champion` moves only to a version
that beats the fallback, and back to the former one; which was former is kept as tags of the
versions, as an alias has no history of its own.
"""

import tempfile
from dataclasses import dataclass
from pathlib import Path

from mlflow.artifacts import download_artifacts
from mlflow.entities import LoggedModelStatus
from mlflow.entities.model_registry import ModelVersion
from mlflow.exceptions import MlflowException
from mlflow.models import Model

from pml.errors import NotFoundError, RequestError
from pml.tracking.mlflow_runs import Tracking
from pml.tracking.package import unpacked

CHAMPION = "champion"
FILE = "package.pml"
_BEATS, _FORMER, _ROLLED_BACK = "beats_fallback", "former", "rolled_back"
_DATA = "data.hash"
_NO_FORMER = ""
_CHAMPION_OF, _FORMER_OF = "champion of", "former champion of"
_NOT_YET, _FIRST = "no version was promoted yet", "there was no other before it"
_ABSENT, _THERE = "RESOURCE_DOES_NOT_EXIST", "RESOURCE_ALREADY_EXISTS"  # MLflow's error codes


@dataclass(frozen=True, slots=True, kw_only=True)
class Version:
    """A registered version of a model."""

    number: int
    run_id: str
    beats_fallback: bool
    champion: bool
    former: int | None
    """The champion before this one, if it ever was one."""
    rolled_back: bool
    """Whether it was champion and taken back."""
    data: str
    """Hash of what it was trained on; empty where a PML of before registered it."""

    def of_other_data(self, other: "Version") -> bool:
        """Whether the two are known to have been trained on different data."""
        return bool(self.data and other.data) and self.data != other.data


class Registry:
    """The versions of one model.

    Invariant: the champion beats the fallback.
    """

    def __init__(self, tracking: Tracking, name: str) -> None:
        self._tracking = tracking
        self._client = tracking.client
        self.name = name

    def register(self, run_id: str, content: bytes, requirements: tuple[str, ...]) -> Version:
        """Keep a package as a new version, made by a run.

        Args:
            run_id: Of the run that trained it.
            content: What `packed` made.
            requirements: What has to be installed to use it, as pip writes it.

        Raises:
            SavedStateError: ``content`` is no whole package.
        """
        manifest = unpacked(content).manifest
        uri = self._logged(run_id, content, requirements)
        self._ensure_name()
        tags = {_BEATS: str(manifest.switched_on).lower(), _DATA: manifest.data}
        made = self._client.create_model_version(self.name, source=uri, run_id=run_id, tags=tags)
        return self.version(int(made.version))

    def promote(self, number: int) -> Version:
        """Make a version the champion; to promote the champion again changes nothing.

        Raises:
            NotFoundError: there is no such version.
            RequestError: it does not beat the fallback.
        """
        version = self.version(number)
        if not version.beats_fallback:
            message = (
                f"version {number} of {self.name!r} does not beat the fallback on held-back "
                "requests, and is not switched on: train on more data, or keep the fallback"
            )
            raise RequestError(message)
        if version.champion:
            return version
        champion = self.champion()
        former = _NO_FORMER if champion is None else str(champion.number)
        # The tag first: a crash between both leaves a champion whose history is true.
        self._client.set_model_version_tag(self.name, str(number), _FORMER, former)
        self._client.set_model_version_tag(self.name, str(number), _ROLLED_BACK, "false")
        self._client.set_registered_model_alias(self.name, CHAMPION, str(number))
        return self.version(number)

    def roll_back(self) -> Version:
        """Make the former champion the champion again.

        Raises:
            NotFoundError: there is no champion, or none before it.
        """
        champion = self.champion()
        if champion is None or champion.former is None:
            raise NotFoundError(_FORMER_OF, self.name, _FIRST if champion else _NOT_YET)
        self._client.set_model_version_tag(self.name, str(champion.number), _ROLLED_BACK, "true")
        self._client.set_registered_model_alias(self.name, CHAMPION, str(champion.former))
        return self.version(champion.former)

    def champion(self) -> Version | None:
        """The version that serves; None before a first promotion."""
        return next((version for version in self.versions() if version.champion), None)

    def version(self, number: int) -> Version:
        """One version.

        Raises:
            NotFoundError: there is no such version.
        """
        found = next((each for each in self.versions() if each.number == number), None)
        if found is None:
            raise NotFoundError("version of " + self.name, str(number), "see `pml models`")
        return found

    def versions(self) -> tuple[Version, ...]:
        """All of them, the newest first."""
        champion = self._champion()
        found = self._client.search_model_versions(f"name = '{self.name}'")
        told = [self._told(each, champion) for each in found]
        return tuple(sorted(told, key=lambda each: -each.number))

    def load(self, number: int | None = None) -> bytes:
        """The package of a version, of the champion by default: the bytes that were registered.

        Raises:
            NotFoundError: there is none.
            SavedStateError: what is stored is damaged.
        """
        version = self.champion() if number is None else self.version(number)
        if version is None:
            raise NotFoundError(_CHAMPION_OF, self.name, _NOT_YET)
        made = self._client.get_model_version(self.name, str(version.number))
        with tempfile.TemporaryDirectory() as folder:
            path = download_artifacts(
                artifact_uri=f"{made.source}/{FILE}",
                dst_path=folder,
                tracking_uri=self._tracking.uri,
            )
            content = Path(path).read_bytes()
        unpacked(content)
        return content

    def _logged(self, run_id: str, content: bytes, requirements: tuple[str, ...]) -> str:
        """Keep the files as a model of the run; returns where they lie."""
        model = self._client.create_logged_model(
            self._tracking.experiment_id, name=self.name, source_run_id=run_id, model_type="pml"
        )
        described = Model(run_id=run_id, model_id=model.model_id)
        described.add_flavor("pml", data=FILE)
        with tempfile.TemporaryDirectory() as folder:
            Path(folder, FILE).write_bytes(content)
            Path(folder, "requirements.txt").write_text("\n".join(requirements) + "\n")
            described.save(str(Path(folder, "MLmodel")))
            self._client.log_model_artifacts(model.model_id, folder)
        self._client.finalize_logged_model(model.model_id, LoggedModelStatus.READY)
        return str(model.artifact_location)

    def _champion(self) -> int | None:
        try:
            found = self._client.get_registered_model(self.name).aliases.get(CHAMPION)
        except MlflowException as exc:
            if exc.error_code != _ABSENT:
                raise
            return None
        return None if found is None else int(found)

    def _ensure_name(self) -> None:
        try:
            self._client.create_registered_model(self.name)
        except MlflowException as exc:
            if exc.error_code != _THERE:
                raise

    def _told(self, found: ModelVersion, champion: int | None) -> Version:
        former = found.tags.get(_FORMER, _NO_FORMER)
        return Version(
            number=int(found.version),
            run_id=found.run_id or "",
            beats_fallback=found.tags.get(_BEATS) == "true",
            champion=int(found.version) == champion,
            former=int(former) if former else None,
            rolled_back=found.tags.get(_ROLLED_BACK) == "true",
            data=found.tags.get(_DATA, ""),
        )
