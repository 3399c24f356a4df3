-- The name or the procedure may be taken meanwhile: then there is no row.
-- name: insert
INSERT INTO workflow_pattern (pattern_id, canonical_hash, name, intent, description, source, code,
                              instrumented, dag_structure, parameters, depth, tools,
                              created_at_ms, updated_at_ms, used_at_ms)
VALUES (%(id)s, %(canonical_hash)s, %(name)s, %(intent)s, %(description)s, %(source)s, %(code)s,
        %(instrumented)s, %(dag_structure)s, %(parameters)s, %(depth)s, %(tools)s,
        %(now_ms)s, %(now_ms)s, %(now_ms)s)
ON CONFLICT DO NOTHING

-- name: taken
SELECT name
FROM workflow_pattern
WHERE name = ANY (%(names)s::text[])

-- name: rename
UPDATE workflow_pattern
SET name = %(name)s, updated_at_ms = %(now_ms)s, changed_xid = pg_current_xact_id()
WHERE pattern_id = %(id)s

-- name: get
SELECT canonical_hash, name, intent, description, source, code, instrumented,
       dag_structure::text, parameters::text, depth, user_id, lifecycle, stale, hidden,
       usage_count, success_count, cardinality(argument_hmacs) AS distinct_arguments,
       created_at_ms, updated_at_ms
FROM workflow_pattern
WHERE pattern_id = %(id)s

-- name: named
SELECT canonical_hash, name, intent, description, source, code, instrumented,
       dag_structure::text, parameters::text, depth, user_id, lifecycle, stale, hidden,
       usage_count, success_count, cardinality(argument_hmacs) AS distinct_arguments,
       created_at_ms, updated_at_ms
FROM workflow_pattern
WHERE name = ANY (%(names)s::text[]) AND NOT hidden

-- name: recent
SELECT canonical_hash, name, intent, description, source, code, instrumented,
       dag_structure::text, parameters::text, depth, user_id, lifecycle, stale, hidden,
       usage_count, success_count, cardinality(argument_hmacs) AS distinct_arguments,
       created_at_ms, updated_at_ms
FROM workflow_pattern
WHERE NOT hidden OR %(hidden)s
ORDER BY used_at_ms DESC, pattern_id
LIMIT %(limit)s

-- As in tool_schemas.sql.
-- name: changed
SELECT canonical_hash, name, intent, description, source, code, instrumented,
       dag_structure::text, parameters::text, depth, user_id, lifecycle, stale, hidden,
       usage_count, success_count, cardinality(argument_hmacs) AS distinct_arguments,
       created_at_ms, updated_at_ms
FROM workflow_pattern
WHERE changed_xid >= %(since)s::xid8
  AND (%(since)s::xid8 = '0' OR changed_xid < pg_snapshot_xmax(pg_current_snapshot()))
ORDER BY pattern_id

-- name: mark
SELECT pg_snapshot_xmin(pg_current_snapshot())::text::bigint

-- name: intents
SELECT past.capability_id, past.intent, past.success_count, past.failure_count,
       past.last_success, past.last_at_ms, past.literals::text
FROM unnest(%(ids)s::text[]) AS wanted (capability_id)
CROSS JOIN LATERAL (
  SELECT *
  FROM past_intent
  WHERE past_intent.capability_id = wanted.capability_id
  ORDER BY last_at_ms DESC, intent COLLATE "C"
  LIMIT %(limit)s
) AS past
ORDER BY past.capability_id, past.last_at_ms DESC, past.intent COLLATE "C"

-- Teaching: the lock that puts the runs of one capability in order.  It lets others point to the
-- row meanwhile.
-- name: experience
SELECT dag_structure::text, json_array_length(parameters) > 0, usage_count, success_count,
       argument_hmacs, lifecycle, hidden, stale
FROM workflow_pattern
WHERE pattern_id = %(id)s
FOR NO KEY UPDATE

-- One statement, so one round trip.
-- name: teach
WITH taught AS (
  UPDATE workflow_pattern
  SET dag_structure = %(dag_structure)s,
      usage_count = %(usage_count)s,
      success_count = %(success_count)s,
      argument_hmacs = %(argument_hmacs)s,
      lifecycle = %(lifecycle)s,
      hidden = %(hidden)s,
      stale = %(stale)s,
      used_at_ms = %(now_ms)s,
      updated_at_ms = %(now_ms)s,
      changed_xid = pg_current_xact_id()
  WHERE pattern_id = %(id)s
)
INSERT INTO past_intent AS past (capability_id, intent_key, intent, success_count, failure_count,
                                 last_success, last_at_ms, literals)
VALUES (%(id)s, %(intent_key)s, %(intent)s, %(success)s::integer, 1 - %(success)s::integer,
        %(success)s, %(now_ms)s, coalesce(%(literals)s::json, '{}'))
ON CONFLICT (user_id, capability_id, intent_key)
DO UPDATE SET
  success_count = past.success_count + excluded.success_count,
  failure_count = past.failure_count + excluded.failure_count,
  last_success = excluded.last_success,
  last_at_ms = excluded.last_at_ms,
  literals = coalesce(%(literals)s::json, past.literals)

-- Whether a tool that it uses, directly or through others, is not what the run knew.
-- name: outdated
WITH RECURSIVE used AS (
  SELECT unnest(tools) AS id
  FROM workflow_pattern
  WHERE pattern_id = %(id)s
  UNION
  SELECT unnest(tools)
  FROM used
  JOIN workflow_pattern ON pattern_id = used.id
)
SELECT EXISTS (
  SELECT
  FROM used
  JOIN tool_schema ON tool_id = used.id
  LEFT JOIN unnest(%(tool_ids)s::text[], %(schema_hashes)s::text[]) AS known (id, schema_hash)
    ON known.id = used.id
  WHERE gone_at IS NOT NULL OR known.schema_hash IS DISTINCT FROM tool_schema.schema_hash)

-- In one order, so that two runs that end together do not wait in a circle.
-- name: count_callees
INSERT INTO capability_dependency AS edge (source, target, edge_type, edge_source, weight, count)
SELECT %(id)s, pattern_id, %(edge_type)s, 'observed', %(weight)s, called.count
FROM unnest(%(callees)s::text[], %(counts)s::bigint[]) AS called (id, count)
JOIN workflow_pattern ON pattern_id = called.id
ORDER BY pattern_id
ON CONFLICT (user_id, source, target, edge_type)
DO UPDATE SET count = edge.count + excluded.count, edge_source = excluded.edge_source

-- name: dependencies
SELECT source, target, edge_type AS type, edge_source, weight, count
FROM capability_dependency
ORDER BY source, target, edge_type
