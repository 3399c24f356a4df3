-- Also the lock that puts two listings of one server in order.
-- name: listed
INSERT INTO tool_server (server)
VALUES (%(server)s)
ON CONFLICT (user_id, server) DO UPDATE SET listed_at = now()

-- Those that are not listed any more, or not as they were.
-- name: changed_or_gone
SELECT tool_id
FROM tool_schema AS old
LEFT JOIN unnest(%(names)s::text[], %(schema_hashes)s::text[]) AS new (name, schema_hash)
  ON new.name = old.name
WHERE old.server = %(server)s
  AND (new.schema_hash <> old.schema_hash OR (new.name IS NULL AND old.gone_at IS NULL))

-- name: mark_gone
UPDATE tool_schema
SET gone_at = now(), changed_xid = pg_current_xact_id()
WHERE server = %(server)s AND gone_at IS NULL AND name <> ALL (%(names)s::text[])

-- Rows that would not change stay untouched.  The hash does not tell the order of keys.  What was
-- accepted is kept while the tool is described otherwise.
-- name: upsert
INSERT INTO tool_schema AS old (server, name, position, description, input_schema,
                                output_schema, annotations, schema_hash)
SELECT %(server)s, *
FROM unnest(%(names)s::text[], %(positions)s::integer[], %(descriptions)s::text[],
            %(input_schemas)s::json[], %(output_schemas)s::json[], %(annotations)s::json[],
            %(schema_hashes)s::text[])
ON CONFLICT (user_id, server, name)
DO UPDATE SET
  position = excluded.position,
  description = excluded.description,
  input_schema = excluded.input_schema,
  output_schema = excluded.output_schema,
  annotations = excluded.annotations,
  schema_hash = excluded.schema_hash,
  observed_schema = CASE
    WHEN old.schema_hash = excluded.schema_hash THEN old.observed_schema END,
  accepted = CASE
    WHEN excluded.schema_hash = coalesce(old.accepted_hash, old.schema_hash) THEN NULL
    ELSE coalesce(old.accepted, json_build_object(
      'description', old.description, 'inputSchema', old.input_schema,
      'outputSchema', old.output_schema, 'annotations', old.annotations)) END,
  accepted_hash = nullif(coalesce(old.accepted_hash, old.schema_hash), excluded.schema_hash),
  gone_at = NULL,
  changed_at = CASE
    WHEN old.schema_hash = excluded.schema_hash THEN old.changed_at ELSE now() END,
  changed_xid = CASE
    WHEN old.schema_hash = excluded.schema_hash AND old.gone_at IS NULL THEN old.changed_xid
    ELSE pg_current_xact_id() END
WHERE old.gone_at IS NOT NULL
  OR old.schema_hash <> excluded.schema_hash
  OR old.position <> excluded.position
  OR (old.input_schema::text, old.output_schema::text, old.annotations::text)
     IS DISTINCT FROM
     (excluded.input_schema::text, excluded.output_schema::text, excluded.annotations::text)

-- Callers of callers too.  Locked in one order, so that two servers that change together do not
-- wait in a circle.  Those too that are stale already: a run that is just ending may be about to
-- say that they are not, and knows nothing of this change.
-- name: mark_stale
WITH RECURSIVE call AS (
  SELECT pattern_id, unnest(tools) AS callee
  FROM workflow_pattern
), caller AS (
  SELECT pattern_id
  FROM call
  WHERE callee = ANY (%(tool_ids)s::text[])
  UNION
  SELECT call.pattern_id
  FROM caller
  JOIN call ON call.callee = caller.pattern_id
), locked AS (
  SELECT pattern_id
  FROM workflow_pattern
  WHERE pattern_id IN (SELECT pattern_id FROM caller)
  ORDER BY pattern_id
  FOR NO KEY UPDATE
)
UPDATE workflow_pattern
SET stale = true, changed_xid = pg_current_xact_id()
FROM locked
WHERE workflow_pattern.pattern_id = locked.pattern_id

-- A server without tools is one row of nulls.
-- name: catalog
SELECT tool_server.server, name, description, input_schema::text, output_schema::text,
       annotations::text, observed_schema::text, accepted::text
FROM tool_server
LEFT JOIN tool_schema
  ON tool_schema.server = tool_server.server AND tool_schema.user_id = tool_server.user_id
     AND gone_at IS NULL
WHERE %(servers)s::text[] IS NULL OR tool_server.server = ANY (%(servers)s::text[])
ORDER BY tool_server.server, position

-- name: find
SELECT tool_schema.server, tool_schema.name, description, input_schema::text,
       output_schema::text, annotations::text, observed_schema::text, accepted::text
FROM unnest(%(servers)s::text[], %(names)s::text[]) AS wanted (server, name)
JOIN tool_schema
  ON tool_schema.server = wanted.server AND tool_schema.name = wanted.name
WHERE gone_at IS NULL

-- Marks and rows of one snapshot; without rows, one row of nulls.  A transaction of the future
-- wrote in another cluster, from which the row was restored: that is no change here.
-- name: changes
SELECT pg_snapshot_xmin(pg_current_snapshot())::text::bigint AS mark, gone_at IS NOT NULL AS gone,
       server, name, description, input_schema::text, output_schema::text, annotations::text,
       observed_schema::text, accepted::text
FROM (VALUES (1)) AS always
LEFT JOIN tool_schema
  ON changed_xid >= %(since)s::xid8
     AND (%(since)s::xid8 = '0' OR changed_xid < pg_snapshot_xmax(pg_current_snapshot()))
ORDER BY server, position

-- In one order, so that two runs that end together do not wait in a circle.
-- name: lock_described
SELECT tool_schema.server, tool_schema.name, observed_schema::text
FROM unnest(%(servers)s::text[], %(names)s::text[], %(schema_hashes)s::text[])
  AS seen (server, name, schema_hash)
JOIN tool_schema
  ON tool_schema.server = seen.server AND tool_schema.name = seen.name
     AND tool_schema.schema_hash = seen.schema_hash
WHERE output_schema IS NULL
ORDER BY tool_schema.server, tool_schema.name
FOR NO KEY UPDATE OF tool_schema

-- name: observe
UPDATE tool_schema
SET observed_schema = %(observed_schema)s::json, changed_xid = pg_current_xact_id()
WHERE server = %(server)s AND name = %(name)s

-- name: quarantined
SELECT server, name, description, input_schema::text, output_schema::text, annotations::text,
       observed_schema::text, accepted::text
FROM tool_schema
WHERE accepted_hash IS NOT NULL AND gone_at IS NULL
ORDER BY tool_id COLLATE "C"

-- name: lock
SELECT server, name, description, input_schema::text, output_schema::text, annotations::text,
       observed_schema::text, accepted::text
FROM tool_schema
WHERE server = %(server)s AND name = %(name)s AND gone_at IS NULL
FOR NO KEY UPDATE

-- name: accept
UPDATE tool_schema
SET accepted = NULL, accepted_hash = NULL, changed_xid = pg_current_xact_id()
WHERE server = %(server)s AND name = %(name)s
