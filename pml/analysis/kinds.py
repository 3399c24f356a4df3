"""Enumerations that are keys of many sets and dictionaries."""

from enum import Enum


class Identified(Enum):
    """An enumeration whose members are hashed by identity.

    `Enum` hashes the name in Python code, which takes longer than the look-up that it is for.
    """

    __hash__ = object.__hash__
