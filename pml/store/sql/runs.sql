-- {columns} are the fields of the record.
-- name: create
INSERT INTO run (id, intent, state, reason, source_hash, owner, created_at_ms, updated_at_ms,
                 timeout_ms, capability_id, parent_run_id, replaces_run_id, epoch, started_at_ms,
                 per_layer, dry_run, expires_at_ms, program)
VALUES (%(id)s, %(intent)s, %(state)s, %(reason)s, %(source_hash)s, %(owner)s,
        %(created_at_ms)s, %(updated_at_ms)s, %(timeout_ms)s, %(capability_id)s,
        %(parent_run_id)s, %(replaces_run_id)s, %(epoch)s, %(started_at_ms)s, %(per_layer)s,
        %(dry_run)s, %(expires_at_ms)s, %(program)b)
ON CONFLICT DO NOTHING

-- name: get
SELECT {columns}
FROM run
WHERE id = %(id)s

-- name: program
SELECT program
FROM run
WHERE id = %(id)s

-- name: recent
SELECT {columns}
FROM run
ORDER BY created_at_ms DESC, id
LIMIT %(limit)s

-- name: recent_in_state
SELECT {columns}
FROM run
WHERE state = %(state)s
ORDER BY created_at_ms DESC, id
LIMIT %(limit)s

-- name: running
SELECT {columns},
       EXISTS (SELECT FROM lease
               WHERE lease.user_id = run.user_id AND lease.owner = run.owner
                 AND expires_at > now()) AS leased
FROM run
WHERE state = 'running'
ORDER BY created_at_ms, id

-- name: children
SELECT {columns}
FROM run
WHERE parent_run_id = %(parent_run_id)s
ORDER BY created_at_ms, id

-- name: left_behind
SELECT {columns}
FROM run
WHERE state = ANY(%(not_final)s)
    AND parent_run_id IN (SELECT caller.id FROM run AS caller WHERE caller.state = ANY(%(final)s))
ORDER BY created_at_ms, id

-- name: expired
SELECT {columns}
FROM run
WHERE expires_at_ms <= %(now_ms)s AND state = ANY(%(waiting)s)
ORDER BY expires_at_ms, id

-- The guard: `from_states` are those from which NEXT_STATES allows `state`.
-- name: move
UPDATE run
SET state = %(state)s,
    reason = %(reason)s,
    updated_at_ms = %(now_ms)s,
    expires_at_ms = %(expires_at_ms)s,
    log_expires_at_ms = %(log_expires_at_ms)s
WHERE id = %(id)s AND epoch = %(epoch)s AND state = ANY(%(from_states)s)
RETURNING {columns}

-- The guard: the row is as it was read.  It waits for appends that are under way: they hold the
-- row (run_log.sql).
-- name: claim
UPDATE run
SET state = 'running',
    reason = '',
    owner = %(owner)s,
    epoch = epoch + 1,
    started_at_ms = coalesce(started_at_ms, %(started_at_ms)s),
    updated_at_ms = %(now_ms)s,
    expires_at_ms = NULL
WHERE id = %(id)s AND epoch = %(epoch)s AND state = %(state)s AND owner = %(old_owner)s
  AND updated_at_ms = %(updated_at_ms)s AND state <> ALL(%(final)s)
RETURNING {columns}
