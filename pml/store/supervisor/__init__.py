"""The process between PML and the embedded PostgreSQL; standard library only, starts in 20 ms."""
