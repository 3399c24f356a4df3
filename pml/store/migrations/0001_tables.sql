-- Every table of ST-2.  Conventions:
--   * every row has user_id, first in every key, and row level security compares it with the
--     setting pml.user_id (0002): a session without the setting sees nothing;
--   * *_ms are Unix milliseconds of PML's clock, *_at are stamped by the database;
--   * json, not jsonb, where a value must come back as it was written.
-- Later migrations add; they never rewrite this file.

CREATE FUNCTION current_pml_user() RETURNS text LANGUAGE sql STABLE
  RETURN coalesce(nullif(current_setting('pml.user_id', true), ''), 'local');

-- Tools ------------------------------------------------------------------------------------

CREATE TABLE tool_server (
  user_id   text NOT NULL DEFAULT 'local',
  server    text NOT NULL,
  listed_at timestamptz NOT NULL DEFAULT now(),
  PRIMARY KEY (user_id, server)
);
COMMENT ON TABLE tool_server IS 'upstream servers that were listed at least once, also those without tools';

CREATE TABLE tool_schema (
  user_id       text NOT NULL DEFAULT 'local',
  server        text NOT NULL,
  name          text NOT NULL,
  tool_id       text NOT NULL GENERATED ALWAYS AS (server || ':' || name) STORED,
  position      integer NOT NULL, -- in the server's list
  description   text NOT NULL,
  input_schema  json NOT NULL,
  output_schema json,
  annotations   json NOT NULL,
  schema_hash   text NOT NULL,
  embedding     vector,           -- of the description; the dimension is the encoder's
  gone_at       timestamptz,      -- when the server stopped listing it
  changed_at    timestamptz NOT NULL DEFAULT now(),
  PRIMARY KEY (user_id, server, name),
  FOREIGN KEY (user_id, server) REFERENCES tool_server ON DELETE CASCADE
);
COMMENT ON TABLE tool_schema IS 'one row per tool of an upstream server, also tools that are gone';

CREATE TABLE tool_dependency (
  user_id     text NOT NULL DEFAULT 'local',
  source      text NOT NULL,
  target      text NOT NULL,
  edge_type   text NOT NULL
    CHECK (edge_type IN ('dependency', 'contains', 'provides', 'sequence', 'co_occurrence')),
  edge_source text NOT NULL CHECK (edge_source IN ('template', 'inferred', 'observed')),
  weight      double precision NOT NULL,
  count       bigint NOT NULL CHECK (count > 0),
  coverage      text CHECK (coverage IN ('strict', 'partial', 'optional')),
  field_mapping json, -- of a provides edge: from_field, to_field, type_compatible
  PRIMARY KEY (user_id, source, target, edge_type),
  CHECK (edge_type <> 'co_occurrence' OR source <= target) -- undirected: stored once
);
COMMENT ON TABLE tool_dependency IS 'edges between tools with how often they were seen (ST-3)';

-- Capabilities -------------------------------------------------------------------------------

CREATE TABLE workflow_pattern (
  user_id        text NOT NULL DEFAULT 'local',
  pattern_id     text NOT NULL,
  name           text NOT NULL,           -- capabilities.name in code
  description    text NOT NULL DEFAULT '',
  intent         text NOT NULL DEFAULT '',
  intent_embedding vector,
  source         text NOT NULL CHECK (source IN ('code', 'dag', 'external')),
  code           text,                    -- canonical TypeScript; null for external workflows
  canonical_hash text NOT NULL,           -- SHA-256 of the canonical form: the version (SA-8)
  dag_structure  jsonb NOT NULL,          -- {static_structure, learning}
  parameters     json NOT NULL DEFAULT '{}',
  lifecycle      text NOT NULL DEFAULT 'candidate'
    CHECK (lifecycle IN ('candidate', 'verified', 'canonical', 'deprecated')),
  stale          boolean NOT NULL DEFAULT false, -- a tool that it uses changed (ST-4)
  hidden         boolean NOT NULL DEFAULT true,  -- until a run succeeded (ST-8)
  usage_count    bigint NOT NULL DEFAULT 0,
  success_count  bigint NOT NULL DEFAULT 0,
  created_at     timestamptz NOT NULL DEFAULT now(),
  updated_at     timestamptz NOT NULL DEFAULT now(),
  PRIMARY KEY (user_id, pattern_id),
  UNIQUE (user_id, name),
  UNIQUE (user_id, canonical_hash),
  CHECK (dag_structure ?& ARRAY['static_structure', 'learning']),
  CHECK (success_count <= usage_count)
);
COMMENT ON TABLE workflow_pattern IS 'capabilities: code or DAG, structure, statistics, life cycle';

CREATE TABLE capability_dependency (
  user_id     text NOT NULL DEFAULT 'local',
  source      text NOT NULL,
  target      text NOT NULL,
  edge_type   text NOT NULL
    CHECK (edge_type IN ('dependency', 'contains', 'provides', 'sequence', 'co_occurrence')),
  edge_source text NOT NULL CHECK (edge_source IN ('template', 'inferred', 'observed')),
  weight      double precision NOT NULL,
  count       bigint NOT NULL CHECK (count > 0),
  PRIMARY KEY (user_id, source, target, edge_type),
  FOREIGN KEY (user_id, source) REFERENCES workflow_pattern ON DELETE CASCADE,
  FOREIGN KEY (user_id, target) REFERENCES workflow_pattern ON DELETE CASCADE,
  CHECK (edge_type <> 'co_occurrence' OR source <= target)
);
COMMENT ON TABLE capability_dependency IS 'edges between capabilities';
CREATE INDEX ON capability_dependency (user_id, target);

-- Runs and their log ---------------------------------------------------------------------------

CREATE TABLE run (
  user_id       text NOT NULL DEFAULT 'local',
  id            text NOT NULL,
  intent        text NOT NULL,
  state         text NOT NULL CHECK (state IN (
    'running', 'paused', 'approval_required', 'in_doubt', 'interrupted',
    'success', 'error', 'cancelled', 'aborted', 'expired', 'diverged')),
  reason        text NOT NULL,
  source_hash   text NOT NULL,
  owner         text NOT NULL,  -- the process that runs it
  created_at_ms bigint NOT NULL,
  updated_at_ms bigint NOT NULL,
  timeout_ms    bigint NOT NULL,
  program       bytea,          -- encrypted; null once the log is deleted
  log_expires_at_ms bigint,     -- null while the run is not final
  PRIMARY KEY (user_id, id)
);
COMMENT ON TABLE run IS 'one execution of a program';
CREATE INDEX ON run (user_id, created_at_ms DESC, id);
CREATE INDEX ON run (user_id, state, created_at_ms DESC, id);
CREATE INDEX ON run (user_id, log_expires_at_ms) WHERE program IS NOT NULL;

CREATE TABLE run_log (
  user_id text NOT NULL DEFAULT 'local',
  run_id  text NOT NULL,
  seq     integer NOT NULL CHECK (seq >= 0),
  kind    text NOT NULL,
  body    bytea NOT NULL, -- AES-256-GCM of the record's JSON (design, section 5, rule 8)
  PRIMARY KEY (user_id, run_id, seq),
  FOREIGN KEY (user_id, run_id) REFERENCES run ON DELETE CASCADE
);
COMMENT ON TABLE run_log IS 'the ledger: what a run issued and was handed, in order, encrypted';
ALTER TABLE run_log ALTER COLUMN body SET STORAGE EXTERNAL; -- ciphertext does not compress

CREATE TABLE execution_trace (
  user_id         text NOT NULL DEFAULT 'local',
  id              text NOT NULL,
  run_id          text NOT NULL,
  capability_id   text,
  parent_trace_id text, -- no foreign key: a nested run's trace is written before its parent's
  intent_text     text NOT NULL,
  initial_context json NOT NULL,
  executed_at_ms  bigint NOT NULL,
  success         boolean NOT NULL,
  state           text NOT NULL,
  duration_ms     double precision NOT NULL,
  error_message   text,
  executed_path   text[] NOT NULL,
  decisions       json NOT NULL,
  task_results    json NOT NULL,
  priority        double precision NOT NULL CHECK (priority BETWEEN 0 AND 1),
  exploratory     boolean NOT NULL,
  dry_run         boolean NOT NULL,
  created_at      timestamptz NOT NULL DEFAULT now(),
  PRIMARY KEY (user_id, id),
  FOREIGN KEY (user_id, run_id) REFERENCES run ON DELETE CASCADE,
  FOREIGN KEY (user_id, capability_id) REFERENCES workflow_pattern (user_id, pattern_id)
    ON DELETE SET NULL (capability_id)
);
COMMENT ON TABLE execution_trace IS 'what runs did: sanitised, immutable, the input of learning';
CREATE INDEX ON execution_trace (user_id, run_id);
CREATE INDEX ON execution_trace (user_id, executed_at_ms DESC, id);
CREATE INDEX ON execution_trace (user_id, capability_id, priority DESC);
CREATE INDEX ON execution_trace (user_id, parent_trace_id) WHERE parent_trace_id IS NOT NULL;
CREATE INDEX ON execution_trace USING gin (executed_path);

CREATE TABLE task_result (
  user_id       text NOT NULL DEFAULT 'local',
  run_id        text NOT NULL,
  task_id       text NOT NULL,
  result        text, -- JSON text, redacted; null once expired
  expires_at_ms bigint NOT NULL,
  PRIMARY KEY (user_id, run_id, task_id),
  FOREIGN KEY (user_id, run_id) REFERENCES run ON DELETE CASCADE
);
COMMENT ON TABLE task_result IS 'whole results of tasks until their TTL (EX-7)';
CREATE INDEX ON task_result (user_id, expires_at_ms) WHERE result IS NOT NULL;

-- People -----------------------------------------------------------------------------------------

CREATE TABLE permission_audit_log (
  user_id       text NOT NULL DEFAULT 'local',
  id            bigint GENERATED ALWAYS AS IDENTITY,
  at_ms         bigint NOT NULL,
  event         text NOT NULL CHECK (event IN ('granted', 'used', 'refused', 'revoked')),
  actor         text NOT NULL, -- who answered: a person, the configuration, a remembered grant
  run_id        text,
  capability_id text,
  tool          text,
  arguments_hmac text,         -- outlives the run, so keyed (rule 8)
  detail        json NOT NULL DEFAULT '{}',
  PRIMARY KEY (user_id, id),
  FOREIGN KEY (user_id, run_id) REFERENCES run ON DELETE SET NULL (run_id),
  FOREIGN KEY (user_id, capability_id) REFERENCES workflow_pattern (user_id, pattern_id)
    ON DELETE SET NULL (capability_id)
);
COMMENT ON TABLE permission_audit_log IS 'every grant, use, refusal and revocation (HIL-3)';
CREATE INDEX ON permission_audit_log (user_id, at_ms DESC);
CREATE INDEX ON permission_audit_log (user_id, run_id) WHERE run_id IS NOT NULL;
CREATE INDEX ON permission_audit_log (user_id, capability_id) WHERE capability_id IS NOT NULL;

-- Learning ---------------------------------------------------------------------------------------

CREATE TABLE shgat_params (
  user_id    text NOT NULL DEFAULT 'local',
  version    bigint GENERATED ALWAYS AS IDENTITY,
  graph_hash text NOT NULL,    -- of the graph that it was trained on
  params     bytea NOT NULL,   -- exported arrays
  metrics    jsonb NOT NULL DEFAULT '{}',
  active     boolean NOT NULL DEFAULT false,
  created_at timestamptz NOT NULL DEFAULT now(),
  PRIMARY KEY (user_id, version)
);
COMMENT ON TABLE shgat_params IS 'trained models; one active row per user (LE-7)';
CREATE UNIQUE INDEX ON shgat_params (user_id) WHERE active;

CREATE TABLE thompson_arm (
  user_id    text NOT NULL DEFAULT 'local',
  tool       text NOT NULL,
  context    text NOT NULL DEFAULT '', -- empty: the tool in general
  alpha      double precision NOT NULL DEFAULT 1 CHECK (alpha > 0),
  beta       double precision NOT NULL DEFAULT 1 CHECK (beta > 0),
  pulls      bigint NOT NULL DEFAULT 0 CHECK (pulls >= 0),
  updated_at_ms bigint NOT NULL,       -- decay counts from here
  PRIMARY KEY (user_id, tool, context)
);
COMMENT ON TABLE thompson_arm IS 'Beta posterior of a tool''s success (LE-4)';

CREATE TABLE mock_registry (
  user_id     text NOT NULL DEFAULT 'local',
  id          text NOT NULL,
  tool        text NOT NULL,
  schema_hash text NOT NULL,  -- of the tool when the mock was made
  arguments   json,           -- null: any arguments
  response    json NOT NULL,
  origin      text NOT NULL CHECK (origin IN ('configured', 'observed', 'generated')),
  status      text NOT NULL DEFAULT 'candidate'
    CHECK (status IN ('candidate', 'canonical', 'stale', 'deprecated')),
  success_count bigint NOT NULL DEFAULT 0,
  failure_count bigint NOT NULL DEFAULT 0,
  created_at  timestamptz NOT NULL DEFAULT now(),
  PRIMARY KEY (user_id, id)
);
COMMENT ON TABLE mock_registry IS 'answers that stand in for tools in dry runs and exploration (XP-6)';
CREATE INDEX ON mock_registry (user_id, tool, status);
