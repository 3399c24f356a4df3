"""The circle from a request to a trace and back; knows ports, not drivers."""
