"""The store without a database: the twin that the contract tests hold against PostgreSQL."""

from pml.store.memory.store import memory_store

__all__ = ["memory_store"]
