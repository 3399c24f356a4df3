"""The `pml` command: thin, and the composition root."""
