"""One run of an agent's code: sandbox, broker, ledger, upstream servers."""
