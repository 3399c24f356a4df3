"""Whether one JSON value, as text, can go everywhere: into the log, a server, an answer.  Pure.

Text that comes from outside is believed to be JSON only once this has said so: decoders
stumble over the rest, each in its own way, and some of them long after the value was stored.
"""

from itertools import accumulate

import msgspec

from pml.domain.limits import Limits
from pml.domain.record import JsonText

_STRUCTURE = b'"[]{}'
_OTHERS = bytes(set(range(256)) - set(_STRUCTURE))
_STEPS = {ord("["): 1, ord("{"): 1, ord("]"): -1, ord("}"): -1}


def flaw(text: JsonText, limits: Limits) -> str | None:
    """Why the value can not travel, as the end of a sentence about it; None if it can.

    Takes time linear in the text, and no stack.
    """
    if deeper_than(text, limits.nesting):
        return f"is nested deeper than {limits.nesting} levels (nesting): make it flatter"
    try:
        msgspec.json.decode(text)
    except msgspec.DecodeError as exc:  # also half of a surrogate pair, which UTF-8 cannot hold
        return f"is no JSON: {exc}"
    return None


def deeper_than(text: JsonText, levels: int) -> bool:
    """Whether arrays and objects stand in each other more than ``levels`` deep.

    Works by stripping: escapes, then all that is neither quote nor bracket, then strings.
    """
    if len(text) <= 2 * levels:
        return False
    plain = text.replace("\\\\", "").replace('\\"', "").encode(errors="replace")
    marks = plain.translate(None, _OTHERS)
    brackets = b"".join(marks.split(b'"')[::2])
    return max(accumulate(map(_STEPS.__getitem__, brackets)), default=0) > levels
