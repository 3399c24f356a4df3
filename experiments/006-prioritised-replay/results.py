"""What the runs came to, and how it is kept."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path


@dataclass(frozen=True, slots=True, kw_only=True)
class Result:
    """What one strategy reached in one setting."""

    problem: str
    learner: str
    condition: str
    strategy: str
    rate: float
    reached: Mapping[str, float]
    """Metrics: means over seeds and cases."""
    difference: Mapping[str, tuple[float, float, float, float]]
    """To uniform replay: mean, ends of the 95 % interval, two-sided p."""
    curve: Mapping[str, float]
    """Log loss by number of updates."""

    @property
    def setting(self) -> tuple[str, str, str]:
        """What strategies are compared in."""
        return self.problem, self.learner, self.condition


def save(found: Sequence[Result], path: Path) -> None:
    """As JSON."""
    path.write_text(json.dumps([asdict(one) for one in found], indent=1))


def load(paths: Sequence[Path]) -> list[Result]:
    """What `save` wrote."""
    return [Result(**fields) for path in paths for fields in json.loads(path.read_text())]
