"""TypeScript to static structure, before anything runs.  Pure."""
