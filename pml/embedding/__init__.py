"""Sentence encoders: texts to vectors."""
