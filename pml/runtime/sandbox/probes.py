"""All attacks of the self-test."""

from pml.runtime.sandbox.probe import Probe
from pml.runtime.sandbox.probes_language import LANGUAGE
from pml.runtime.sandbox.probes_reach import REACH
from pml.runtime.sandbox.probes_within import WITHIN

PROBES: tuple[Probe, ...] = (*REACH, *WITHIN, *LANGUAGE)
