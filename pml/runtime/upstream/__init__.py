"""Upstream MCP servers: configuration, connections, calls (EX-11)."""
