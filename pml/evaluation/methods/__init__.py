"""One file per method; each class with a ``name``, a ``task`` and ``answers`` is found here."""
