"""What is kept, in PostgreSQL: a module per noun, and an in-memory twin."""
