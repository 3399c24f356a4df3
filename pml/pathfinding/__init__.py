"""Hyperpaths."""
