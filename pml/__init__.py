"""PML, the Procedural Memory Layer: run an agent's code on real tools, and learn from it."""
