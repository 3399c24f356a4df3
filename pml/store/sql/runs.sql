-- name: create
INSERT INTO run (id, intent, state, reason, source_hash, owner, created_at_ms, updated_at_ms,
                 timeout_ms, capability_id, parent_run_id, program)
VALUES (%(id)s, %(intent)s, %(state)s, %(reason)s, %(source_hash)s, %(owner)s,
        %(created_at_ms)s, %(updated_at_ms)s, %(timeout_ms)s, %(capability_id)s,
        %(parent_run_id)s, %(program)b)
ON CONFLICT DO NOTHING

-- name: get
SELECT id, user_id, intent, state, reason, source_hash, owner, created_at_ms, updated_at_ms,
       timeout_ms, capability_id, parent_run_id
FROM run
WHERE id = %(id)s

-- name: program
SELECT program
FROM run
WHERE id = %(id)s

-- name: recent
SELECT id, user_id, intent, state, reason, source_hash, owner, created_at_ms, updated_at_ms,
       timeout_ms, capability_id, parent_run_id
FROM run
ORDER BY created_at_ms DESC, id
LIMIT %(limit)s

-- name: recent_in_state
SELECT id, user_id, intent, state, reason, source_hash, owner, created_at_ms, updated_at_ms,
       timeout_ms, capability_id, parent_run_id
FROM run
WHERE state = %(state)s
ORDER BY created_at_ms DESC, id
LIMIT %(limit)s

-- name: running
SELECT id, user_id, intent, state, reason, source_hash, owner, created_at_ms, updated_at_ms,
       timeout_ms, capability_id, parent_run_id
FROM run
WHERE state = 'running'
ORDER BY created_at_ms, id

-- The guard: `from_states` are those from which NEXT_STATES allows `state`.
-- name: move
UPDATE run
SET state = %(state)s,
    reason = %(reason)s,
    updated_at_ms = %(now_ms)s,
    owner = coalesce(%(owner)s, owner),
    log_expires_at_ms = %(log_expires_at_ms)s
WHERE id = %(id)s AND state = ANY(%(from_states)s)
RETURNING id, user_id, intent, state, reason, source_hash, owner, created_at_ms, updated_at_ms,
          timeout_ms, capability_id, parent_run_id
