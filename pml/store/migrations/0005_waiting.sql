-- Runs that pause, wait for somebody, and are taken over (design, section 5).

-- Runs ---------------------------------------------------------------------------------------

ALTER TABLE run
  ADD COLUMN replaces_run_id text,  -- replanned from
  ADD COLUMN epoch bigint NOT NULL DEFAULT 0 CHECK (epoch >= 0), -- fencing token
  ADD COLUMN started_at_ms bigint,
  ADD COLUMN per_layer boolean NOT NULL DEFAULT false,
  ADD COLUMN dry_run boolean NOT NULL DEFAULT false,
  ADD COLUMN expires_at_ms bigint,  -- of a run that waits
  ADD FOREIGN KEY (user_id, replaces_run_id) REFERENCES run (user_id, id)
    ON DELETE SET NULL (replaces_run_id);
COMMENT ON COLUMN run.epoch IS 'grows with each claim; what an earlier owner writes is refused';
CREATE INDEX ON run (user_id, replaces_run_id) WHERE replaces_run_id IS NOT NULL;
CREATE INDEX ON run (user_id, expires_at_ms, id) WHERE expires_at_ms IS NOT NULL;

CREATE TABLE lease (
  user_id    text NOT NULL DEFAULT 'local',
  owner      text NOT NULL, -- as in run
  expires_at timestamptz NOT NULL,
  PRIMARY KEY (user_id, owner)
);
COMMENT ON TABLE lease IS 'which processes live, by the clock of the database';

-- ST-6, as 0002 did for the tables that there were.

DO $$
DECLARE
  name text;
BEGIN
  FOREACH name IN ARRAY ARRAY['lease'] LOOP
    EXECUTE format('ALTER TABLE %I ALTER COLUMN user_id SET DEFAULT current_pml_user()', name);
    EXECUTE format('ALTER TABLE %I ENABLE ROW LEVEL SECURITY', name);
    EXECUTE format('ALTER TABLE %I FORCE ROW LEVEL SECURITY', name);
    EXECUTE format(
      'CREATE POLICY own_rows ON %I USING (user_id = current_setting(''pml.user_id'', true))',
      name);
  END LOOP;
END
$$;
