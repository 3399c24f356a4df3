-- Capabilities come to life: what keeping, finding and teaching them needs (ST-2, ST-4, ST-8).
--
-- changed_xid is the transaction that changed a row last.  Who asks "what changed since?" is
-- told the rows with changed_xid >= mark, and takes as next mark the oldest transaction that
-- is still under way: whatever commits later is at or after it, so nothing is missed (a time
-- or a sequence would miss what got its number early and was committed late).

-- Tools --------------------------------------------------------------------------------------

ALTER TABLE tool_schema
  DROP COLUMN embedding, -- see the table embedding
  ADD COLUMN changed_xid xid8 NOT NULL DEFAULT pg_current_xact_id();
CREATE INDEX ON tool_schema (user_id, changed_xid);

-- Capabilities -------------------------------------------------------------------------------

-- No index on tools: under row level security an array operator may not use one (it is not
-- leakproof), and it is asked for only when a tool changed.
ALTER TABLE workflow_pattern
  DROP CONSTRAINT workflow_pattern_dag_structure_check,
  DROP COLUMN intent_embedding,
  ALTER COLUMN dag_structure TYPE json, -- values of literals come back as they were written
  ALTER COLUMN parameters SET DEFAULT '[]',
  ALTER COLUMN parameters TYPE json
    USING CASE json_typeof(parameters) WHEN 'array' THEN parameters ELSE '[]' END,
  ALTER COLUMN created_at DROP DEFAULT,
  ALTER COLUMN created_at TYPE bigint USING extract(epoch FROM created_at) * 1000,
  ALTER COLUMN updated_at DROP DEFAULT,
  ALTER COLUMN updated_at TYPE bigint USING extract(epoch FROM updated_at) * 1000,
  ADD COLUMN instrumented text NOT NULL DEFAULT '', -- the code as it runs
  ADD COLUMN depth integer NOT NULL DEFAULT 0 CHECK (depth >= 0), -- levels of capabilities below
  ADD COLUMN tools text[] NOT NULL DEFAULT '{}',    -- ids of what it calls, capabilities too
  ADD COLUMN argument_hmacs text[] NOT NULL DEFAULT '{}', -- with which it succeeded; outlive runs
  ADD COLUMN used_at_ms bigint NOT NULL DEFAULT 0,
  ADD COLUMN changed_xid xid8 NOT NULL DEFAULT pg_current_xact_id(),
  ADD CHECK (json_typeof(dag_structure) = 'object'); -- operators on its keys refuse \u0000
ALTER TABLE workflow_pattern RENAME COLUMN created_at TO created_at_ms;
ALTER TABLE workflow_pattern RENAME COLUMN updated_at TO updated_at_ms;
COMMENT ON COLUMN workflow_pattern.intent IS 'the first it was sent with; past_intent has all';
CREATE INDEX ON workflow_pattern (user_id, changed_xid);
CREATE INDEX ON workflow_pattern (user_id, used_at_ms DESC, pattern_id);

CREATE TABLE past_intent (
  user_id       text NOT NULL DEFAULT 'local',
  capability_id text NOT NULL,
  intent_key    text NOT NULL, -- SHA-256 of the normalised intent, which may be too long for a key
  intent        text NOT NULL,
  success_count bigint NOT NULL CHECK (success_count >= 0),
  failure_count bigint NOT NULL CHECK (failure_count >= 0),
  last_success  boolean NOT NULL,
  last_at_ms    bigint NOT NULL,
  literals      json NOT NULL DEFAULT '{}', -- of the latest submission with it
  PRIMARY KEY (user_id, capability_id, intent_key),
  FOREIGN KEY (user_id, capability_id) REFERENCES workflow_pattern (user_id, pattern_id)
    ON DELETE CASCADE
);
COMMENT ON TABLE past_intent IS 'with which intents a capability ran, and how that went';

CREATE TABLE embedding (
  user_id   text NOT NULL DEFAULT 'local',
  encoder   text NOT NULL,
  key_hash  text NOT NULL, -- SHA-256 of the key, which may be too long for one
  key       text NOT NULL, -- tool:SERVER:NAME, or intent: and the normalised intent
  text_hash text NOT NULL, -- of what was encoded
  vector    vector NOT NULL, -- the dimension is the encoder's
  PRIMARY KEY (user_id, encoder, key_hash)
);
COMMENT ON TABLE embedding IS 'vectors of texts, by the encoder that made them';

-- Runs ---------------------------------------------------------------------------------------

ALTER TABLE run
  ADD COLUMN capability_id text, -- what it runs
  ADD COLUMN parent_run_id text, -- whose code called it (EX-10)
  ADD FOREIGN KEY (user_id, capability_id) REFERENCES workflow_pattern (user_id, pattern_id)
    ON DELETE SET NULL (capability_id),
  ADD FOREIGN KEY (user_id, parent_run_id) REFERENCES run (user_id, id)
    ON DELETE SET NULL (parent_run_id);
CREATE INDEX ON run (user_id, capability_id) WHERE capability_id IS NOT NULL;
CREATE INDEX ON run (user_id, parent_run_id) WHERE parent_run_id IS NOT NULL;

-- ST-6, as 0002 did for the tables that there were.

DO $$
DECLARE
  name text;
BEGIN
  FOREACH name IN ARRAY ARRAY['past_intent', 'embedding'] LOOP
    EXECUTE format('ALTER TABLE %I ALTER COLUMN user_id SET DEFAULT current_pml_user()', name);
    EXECUTE format('ALTER TABLE %I ENABLE ROW LEVEL SECURITY', name);
    EXECUTE format('ALTER TABLE %I FORCE ROW LEVEL SECURITY', name);
    EXECUTE format(
      'CREATE POLICY own_rows ON %I USING (user_id = current_setting(''pml.user_id'', true))',
      name);
  END LOOP;
END
$$;
