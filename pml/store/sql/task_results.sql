-- name: page
SELECT substr(result, %(offset)s::integer + 1, %(limit)s::integer), length(result), expires_at_ms
FROM task_result
WHERE run_id = %(run_id)s AND task_id = %(task_id)s

-- name: delete_expired
UPDATE task_result
SET result = NULL
WHERE expires_at_ms <= %(now_ms)s AND result IS NOT NULL
