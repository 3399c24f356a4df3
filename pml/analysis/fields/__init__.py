"""Which output of a tool can be which input of another, by names, types and nouns (SA-10)."""
