"""The endpoint that agents use: thin, over `pml.loop`."""
