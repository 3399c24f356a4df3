"""The nouns that travel between packages."""
