"""Decisions made of models and paths: what fits an intent, and in which order."""
