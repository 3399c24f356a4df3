"""Numbers of groups: small, by size, and the same as before where the group is the same.

A clustering says which nodes are together; the numbers that it gives are arbitrary.  A learner that
has seen group 3 needs it to be group 3 after the next clustering.
"""

from itertools import count

import numpy as np
from jaxtyping import Int64


def compact(labels: Int64[np.ndarray, " nodes"]) -> Int64[np.ndarray, " nodes"]:
    """Numbered from 0 by size, the largest first; of equals the one with the earliest node.

    Labels below 0 mean no group and stay -1.
    """
    _, first, inverse, counts = np.unique(
        labels, return_index=True, return_inverse=True, return_counts=True
    )
    outside = labels[first] < 0
    order = np.lexsort((first, -counts, outside))
    rank = np.empty(len(order), dtype=np.int64)
    rank[order] = np.arange(len(order))
    return np.asarray(np.where(labels < 0, -1, rank[inverse]))


def aligned(
    labels: Int64[np.ndarray, " nodes"], previous: Int64[np.ndarray, " nodes"]
) -> Int64[np.ndarray, " nodes"]:
    """The groups of ``labels`` under the numbers of ``previous``.

    A group takes the number of the one with which it shares the most nodes, the largest overlaps
    first; what is left gets numbers that were not used.  -1 means no group in both.
    """
    now = compact(labels)
    groups = int(now.max(initial=-1)) + 1
    taken = _matched(now, previous)
    used = set(previous.tolist())
    fresh = (number for number in count() if number not in used)
    numbers = [taken[group] if group in taken else next(fresh) for group in range(groups)]
    return np.asarray(np.array([*numbers, -1], dtype=np.int64)[now])


def _matched(
    now: Int64[np.ndarray, " nodes"], previous: Int64[np.ndarray, " nodes"]
) -> dict[int, int]:
    both = (now >= 0) & (previous >= 0)
    pairs, counts = np.unique(np.stack([now[both], previous[both]]), axis=1, return_counts=True)
    taken: dict[int, int] = {}
    gone: set[int] = set()
    for place in np.lexsort((pairs[0], pairs[1], -counts)):
        group, number = (int(one) for one in pairs[:, place])
        if group not in taken and number not in gone:
            taken[group] = number
            gone.add(number)
    return taken
