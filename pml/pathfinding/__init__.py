"""Hyperpaths: what has to be called, all of it and in which order, to get somewhere (LE-6)."""
