-- Finds the runs that are to be deleted (ST-7) without reading those that stay.

CREATE INDEX ON run (user_id, updated_at_ms) WHERE program IS NULL;
