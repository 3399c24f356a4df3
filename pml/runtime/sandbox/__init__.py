"""Where an agent's code runs: disposable Deno processes that may touch nothing (design D3)."""
