-- name: insert
INSERT INTO execution_trace (id, run_id, capability_id, parent_trace_id, intent_text,
                             initial_context, executed_at_ms, success, state, duration_ms,
                             error_message, executed_path, decisions, task_results, priority,
                             exploratory, dry_run)
VALUES (%(id)s, %(run_id)s, %(capability_id)s, %(parent_trace_id)s, %(intent_text)s,
        %(initial_context)s, %(executed_at_ms)s, %(success)s, %(state)s, %(duration_ms)s,
        %(error_message)s, %(executed_path)s, %(decisions)s, %(task_results)s, %(priority)s,
        %(exploratory)s, %(dry_run)s)
ON CONFLICT DO NOTHING

-- A run that ends twice (it resumed) has the later results.
-- name: insert_result
INSERT INTO task_result (run_id, task_id, result, expires_at_ms)
VALUES (%(run_id)s, %(task_id)s, %(result)s, %(expires_at_ms)s)
ON CONFLICT (user_id, run_id, task_id)
DO UPDATE SET result = excluded.result, expires_at_ms = excluded.expires_at_ms

-- The strongest evidence stays.
-- name: count_dependency
INSERT INTO tool_dependency AS edge (source, target, edge_type, edge_source, weight, count)
VALUES (%(source)s, %(target)s, %(type)s, %(edge_source)s, %(weight)s, %(count)s)
ON CONFLICT (user_id, source, target, edge_type)
DO UPDATE SET
  count = edge.count + excluded.count,
  weight = excluded.weight,
  edge_source = CASE
    WHEN 'observed' IN (edge.edge_source, excluded.edge_source) THEN 'observed'
    WHEN 'inferred' IN (edge.edge_source, excluded.edge_source) THEN 'inferred'
    ELSE 'template'
  END

-- name: get
SELECT id, run_id, user_id, capability_id, parent_trace_id, intent_text, initial_context::text,
       executed_at_ms, success, state, duration_ms, error_message, executed_path,
       decisions::text, task_results::text, priority, exploratory, dry_run
FROM execution_trace
WHERE id = %(id)s

-- name: of_run
SELECT id, run_id, user_id, capability_id, parent_trace_id, intent_text, initial_context::text,
       executed_at_ms, success, state, duration_ms, error_message, executed_path,
       decisions::text, task_results::text, priority, exploratory, dry_run
FROM execution_trace
WHERE run_id = %(run_id)s
ORDER BY executed_at_ms, id

-- name: recent
SELECT id, run_id, user_id, capability_id, parent_trace_id, intent_text, initial_context::text,
       executed_at_ms, success, state, duration_ms, error_message, executed_path,
       decisions::text, task_results::text, priority, exploratory, dry_run
FROM execution_trace
ORDER BY executed_at_ms DESC, id
LIMIT %(limit)s

-- name: selected
SELECT executed_at_ms, id
FROM execution_trace
WHERE executed_at_ms >= %(since_ms)s
ORDER BY executed_at_ms DESC, id
LIMIT %(limit)s

-- name: several
SELECT trace.id, run_id, user_id, capability_id, parent_trace_id, intent_text,
       initial_context::text, executed_at_ms, success, state, duration_ms, error_message,
       executed_path, decisions::text, task_results::text, priority, exploratory, dry_run
FROM unnest(%(ids)s::text[]) WITH ORDINALITY AS wanted (id, place)
JOIN execution_trace AS trace ON trace.id = wanted.id
ORDER BY place
