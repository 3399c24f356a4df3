-- Also the lock that puts two listings of one server in order.
-- name: listed
INSERT INTO tool_server (server)
VALUES (%(server)s)
ON CONFLICT (user_id, server) DO UPDATE SET listed_at = now()

-- name: mark_gone
UPDATE tool_schema
SET gone_at = now()
WHERE server = %(server)s AND gone_at IS NULL AND name <> ALL (%(names)s)

-- name: upsert
INSERT INTO tool_schema AS old (server, name, position, description, input_schema,
                                output_schema, annotations, schema_hash)
VALUES (%(server)s, %(name)s, %(position)s, %(description)s, %(input_schema)s,
        %(output_schema)s, %(annotations)s, %(schema_hash)s)
ON CONFLICT (user_id, server, name)
DO UPDATE SET
  position = excluded.position,
  description = excluded.description,
  input_schema = excluded.input_schema,
  output_schema = excluded.output_schema,
  annotations = excluded.annotations,
  schema_hash = excluded.schema_hash,
  embedding = CASE WHEN old.schema_hash = excluded.schema_hash THEN old.embedding END,
  gone_at = NULL,
  changed_at = CASE
    WHEN old.schema_hash = excluded.schema_hash THEN old.changed_at ELSE now() END

-- A server without tools is one row of nulls.
-- name: catalog
SELECT tool_server.server, name, description, input_schema::text, output_schema::text,
       annotations::text
FROM tool_server
LEFT JOIN tool_schema
  ON tool_schema.server = tool_server.server AND tool_schema.user_id = tool_server.user_id
     AND gone_at IS NULL
ORDER BY tool_server.server, position
