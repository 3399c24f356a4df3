"""A small data set that PML makes itself: a town of errands, with something to learn in it."""
