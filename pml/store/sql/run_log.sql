-- One statement, so one round trip and one commit.  The log's end is looked up in the same
-- statement: what does not continue it writes no row, and of two writers at one place the
-- second meets the primary key.  A run whose log was deleted (no program) takes nothing.
--
-- The run's row is held until the commit.  A claim (runs.sql) that came first makes this wait,
-- and then the epoch is another: nothing is written.  One that comes second waits, and whoever
-- claimed reads what was written here.
-- name: append
WITH held AS MATERIALIZED (
  SELECT
  FROM run
  WHERE id = %(run_id)s AND epoch = %(epoch)s AND program IS NOT NULL
  FOR SHARE
)
INSERT INTO run_log (run_id, seq, kind, body, epoch)
SELECT %(run_id)s, %(first)s::integer + record.position::integer - 1, record.kind, record.body,
       %(epoch)s::bigint
FROM held
CROSS JOIN unnest(%(kinds)s::text[], %(bodies)b::bytea[])
     WITH ORDINALITY AS record (kind, body, position)
WHERE %(first)s::integer = (
        SELECT coalesce(max(seq) + 1, 0)
        FROM run_log
        WHERE user_id = current_setting('pml.user_id') AND run_id = %(run_id)s)

-- name: read
SELECT seq, kind, body
FROM run_log
WHERE run_id = %(run_id)s
ORDER BY seq

-- name: progressed
SELECT coalesce(max(epoch), 0)
FROM run_log
WHERE run_id = %(run_id)s AND kind <> ALL(%(idle)s)

-- A few runs at a time; what somebody else holds, they see to.
-- name: delete_expired
WITH over AS MATERIALIZED (
  SELECT id
  FROM run
  WHERE log_expires_at_ms <= %(now_ms)s AND program IS NOT NULL
    AND NOT EXISTS (SELECT FROM run AS parent
                    WHERE parent.user_id = run.user_id AND parent.id = run.parent_run_id
                      AND parent.log_expires_at_ms IS NULL)
  ORDER BY log_expires_at_ms
  LIMIT %(runs)s
  FOR NO KEY UPDATE OF run SKIP LOCKED
), ended AS (
  UPDATE run
  SET program = NULL
  FROM over
  WHERE run.id = over.id
  RETURNING run.id
), deleted AS (
  DELETE FROM run_log
  USING ended
  WHERE run_log.run_id = ended.id
  RETURNING run_log.run_id
)
SELECT (SELECT count(*) FROM ended), (SELECT count(*) FROM deleted)
