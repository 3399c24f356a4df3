"""What outlives a process: runs, logs, traces, tools; PostgreSQL and its in-memory twin."""
