-- The latest trace that is one too many, if there is one.
-- name: first_beyond
SELECT executed_at_ms, id
FROM execution_trace
ORDER BY executed_at_ms DESC, id
OFFSET %(traces_kept)s
LIMIT 1

-- `recent` backwards: of those of one time the last by id go first.
-- name: delete_traces
DELETE FROM execution_trace
WHERE id IN (
  SELECT id
  FROM execution_trace
  WHERE executed_at_ms < %(before_ms)s OR (executed_at_ms = %(before_ms)s AND id >= %(from_id)s)
  ORDER BY executed_at_ms, id DESC
  LIMIT %(limit)s)

-- name: delete_runs
DELETE FROM run
WHERE id IN (
  SELECT id
  FROM run
  WHERE updated_at_ms < %(before_ms)s AND log_expires_at_ms IS NOT NULL AND program IS NULL
    AND NOT EXISTS (SELECT FROM execution_trace AS trace
                    WHERE trace.user_id = run.user_id AND trace.run_id = run.id)
  ORDER BY updated_at_ms
  LIMIT %(limit)s
  FOR UPDATE SKIP LOCKED)

-- name: delete_leases
DELETE FROM lease
WHERE owner IN (
  SELECT owner
  FROM lease
  WHERE expires_at < now() - interval '1 hour'
  LIMIT %(limit)s
  FOR UPDATE SKIP LOCKED)
