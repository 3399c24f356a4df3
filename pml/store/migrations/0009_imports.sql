-- Anonymous traces of others (RW-5).  Apart from execution_trace, so that nothing that speaks of
-- own runs, retention or discovery can take them for own experience.

CREATE TABLE imported_trace (
  user_id        text NOT NULL DEFAULT 'local',
  id             text NOT NULL,
  source         text NOT NULL,   -- what the importer called it
  executed_at_ms bigint NOT NULL, -- since the first trace of its export
  trace          json NOT NULL,   -- ExecutionTrace
  imported_at_ms bigint NOT NULL,
  PRIMARY KEY (user_id, id)
);
COMMENT ON TABLE imported_trace IS 'anonymous traces that others exported';
CREATE INDEX ON imported_trace (user_id, executed_at_ms DESC, id);
CREATE INDEX ON imported_trace (user_id, source);

CREATE TABLE imported_tool (
  user_id text NOT NULL DEFAULT 'local',
  source  text NOT NULL,
  tool_id text NOT NULL,
  tool    json NOT NULL, -- Tool
  PRIMARY KEY (user_id, source, tool_id)
);
COMMENT ON TABLE imported_tool IS 'tools that imported traces speak of, as they were described there';

-- ST-6, as 0002 did for the tables that there were.

DO $$
DECLARE
  name text;
BEGIN
  FOREACH name IN ARRAY ARRAY['imported_trace', 'imported_tool'] LOOP
    EXECUTE format('ALTER TABLE %I ALTER COLUMN user_id SET DEFAULT current_pml_user()', name);
    EXECUTE format('ALTER TABLE %I ENABLE ROW LEVEL SECURITY', name);
    EXECUTE format('ALTER TABLE %I FORCE ROW LEVEL SECURITY', name);
    EXECUTE format(
      'CREATE POLICY own_rows ON %I USING (user_id = current_setting(''pml.user_id'', true))',
      name);
  END LOOP;
END
$$;
