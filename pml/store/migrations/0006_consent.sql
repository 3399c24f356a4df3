-- What people consent to, who they are, and what was done with it (HIL-2 to HIL-5).

-- Approvals ----------------------------------------------------------------------------------

CREATE TABLE approval (
  user_id        text NOT NULL DEFAULT 'local',
  id             text NOT NULL,
  run_id         text NOT NULL,
  source_hash    text NOT NULL,
  arguments_hmac text NOT NULL,
  tools          json NOT NULL,      -- [{tool, schemaHash}]
  calls          integer[] NOT NULL, -- numbers in the run's log; empty: the plan
  state          text NOT NULL
    CHECK (state IN ('pending', 'granted', 'refused', 'expired', 'withdrawn')),
  asked_at_ms    bigint NOT NULL,
  expires_at_ms  bigint NOT NULL,
  decided_at_ms  bigint,             -- by whomever, or by nobody: when it stopped to be pending
  decided_by     text NOT NULL,
  note           text NOT NULL,
  PRIMARY KEY (user_id, id),
  FOREIGN KEY (user_id, run_id) REFERENCES run ON DELETE CASCADE
);
COMMENT ON TABLE approval IS 'requests for approval of runs, and their answers';
CREATE UNIQUE INDEX ON approval (user_id, run_id) WHERE state = 'pending';
CREATE INDEX ON approval (user_id, run_id, asked_at_ms, id);
CREATE INDEX ON approval (user_id, asked_at_ms, id) WHERE state = 'pending';
CREATE INDEX ON approval (user_id, expires_at_ms) WHERE state = 'pending';

CREATE TABLE approval_grant (
  user_id       text NOT NULL DEFAULT 'local',
  id            text NOT NULL,
  scope         json NOT NULL, -- {tool, arguments, capabilityId, ttlS}
  granted_at_ms bigint NOT NULL,
  granted_by    text NOT NULL,
  expires_at_ms bigint,        -- null: until it is revoked
  revoked_at_ms bigint,
  note          text NOT NULL,
  PRIMARY KEY (user_id, id)
);
COMMENT ON TABLE approval_grant IS 'remembered approvals, those too that hold no more';

CREATE TABLE api_key (
  user_id       text NOT NULL DEFAULT 'local',
  id            text NOT NULL,
  name          text NOT NULL,
  role          text NOT NULL CHECK (role IN ('viewer', 'agent', 'approver', 'admin')),
  key_hash      text NOT NULL, -- SHA-256 of the key, which is random
  created_at_ms bigint NOT NULL,
  revoked_at_ms bigint,
  used_at_ms    bigint,
  PRIMARY KEY (user_id, id),
  UNIQUE (user_id, key_hash)
);
COMMENT ON TABLE api_key IS 'who may do what; the keys themselves are not kept';
CREATE UNIQUE INDEX ON api_key (user_id, name) WHERE revoked_at_ms IS NULL;

-- The audit log ------------------------------------------------------------------------------

-- It outlives what it speaks of, so it refers to it by id only.
ALTER TABLE permission_audit_log
  DROP CONSTRAINT permission_audit_log_event_check,
  ADD CONSTRAINT permission_audit_log_event_check CHECK (event IN (
    'asked', 'granted', 'used', 'refused', 'revoked', 'expired', 'withdrawn', 'accepted')),
  DROP CONSTRAINT permission_audit_log_user_id_run_id_fkey,
  DROP CONSTRAINT permission_audit_log_user_id_capability_id_fkey;
DROP INDEX permission_audit_log_user_id_at_ms_idx;
DROP INDEX permission_audit_log_user_id_run_id_idx;
CREATE INDEX ON permission_audit_log (user_id, at_ms DESC, id DESC);
CREATE INDEX ON permission_audit_log (user_id, run_id, at_ms DESC, id DESC)
  WHERE run_id IS NOT NULL;

-- Tools --------------------------------------------------------------------------------------

ALTER TABLE tool_schema
  ADD COLUMN accepted json,      -- {description, inputSchema, outputSchema, annotations}
  ADD COLUMN accepted_hash text, -- schema_hash of that
  ADD CHECK ((accepted IS NULL) = (accepted_hash IS NULL)),
  ADD CHECK (accepted_hash <> schema_hash);
COMMENT ON COLUMN tool_schema.accepted IS 'what was accepted, if it is described otherwise now';
CREATE INDEX ON tool_schema (user_id, tool_id) WHERE accepted_hash IS NOT NULL;

-- ST-6, as 0002 did for the tables that there were. --------------------------------------------

DO $$
DECLARE
  name text;
BEGIN
  FOREACH name IN ARRAY ARRAY['approval', 'approval_grant', 'api_key'] LOOP
    EXECUTE format('ALTER TABLE %I ALTER COLUMN user_id SET DEFAULT current_pml_user()', name);
    EXECUTE format('ALTER TABLE %I ENABLE ROW LEVEL SECURITY', name);
    EXECUTE format('ALTER TABLE %I FORCE ROW LEVEL SECURITY', name);
    EXECUTE format(
      'CREATE POLICY own_rows ON %I USING (user_id = current_setting(''pml.user_id'', true))',
      name);
  END LOOP;
END
$$;

-- The audit log is append-only: without a policy for it, nobody changes or deletes a row.
DROP POLICY own_rows ON permission_audit_log;
CREATE POLICY own_rows_read ON permission_audit_log FOR SELECT
  USING (user_id = current_setting('pml.user_id', true));
CREATE POLICY own_rows_appended ON permission_audit_log FOR INSERT
  WITH CHECK (user_id = current_setting('pml.user_id', true));
