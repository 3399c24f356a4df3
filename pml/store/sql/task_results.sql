-- name: page
SELECT substr(result, %(offset)s::integer + 1, %(limit)s::integer), length(result), expires_at_ms
FROM task_result
WHERE run_id = %(run_id)s AND task_id = %(task_id)s

-- name: delete_expired
WITH over AS MATERIALIZED (
  SELECT run_id, task_id
  FROM task_result
  WHERE expires_at_ms <= %(now_ms)s AND result IS NOT NULL
  ORDER BY expires_at_ms
  LIMIT %(limit)s
  FOR NO KEY UPDATE SKIP LOCKED
)
UPDATE task_result
SET result = NULL
FROM over
WHERE task_result.run_id = over.run_id AND task_result.task_id = over.task_id
