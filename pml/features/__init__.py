"""Records to arrays."""
