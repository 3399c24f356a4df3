-- Puts the requests of one run in order, and keeps others from taking it over meanwhile.
-- name: lock_run
SELECT epoch
FROM run
WHERE id = %(run_id)s
FOR NO KEY UPDATE

-- name: ask
INSERT INTO approval ({columns})
VALUES (%(id)s, %(run_id)s, %(source_hash)s, %(arguments_hmac)s, %(tools)s, %(calls)s, %(state)s,
        %(asked_at_ms)s, %(expires_at_ms)s, %(decided_at_ms)s, %(decided_by)s, %(note)s)
ON CONFLICT DO NOTHING

-- name: get
SELECT {columns}
FROM approval
WHERE id = %(id)s

-- name: of_run
SELECT {columns}
FROM approval
WHERE run_id = %(run_id)s
ORDER BY asked_at_ms, id

-- name: pending
SELECT {columns}
FROM approval
WHERE state = 'pending'
ORDER BY asked_at_ms, id
LIMIT %(limit)s

-- name: decide
UPDATE approval
SET state = %(state)s, decided_at_ms = %(now_ms)s, decided_by = %(by)s, note = %(note)s
WHERE id = %(id)s AND state = 'pending' AND expires_at_ms > %(now_ms)s
RETURNING {columns}

-- name: withdraw
UPDATE approval
SET state = 'withdrawn', decided_at_ms = %(now_ms)s
WHERE run_id = %(run_id)s AND state = 'pending'
RETURNING {columns}

-- Locked in one order, so that two who do this at once do not wait in a circle.
-- name: lock_expired
SELECT id
FROM approval
WHERE state = 'pending' AND expires_at_ms <= %(now_ms)s
ORDER BY id
FOR NO KEY UPDATE

-- name: expire
UPDATE approval
SET state = 'expired', decided_at_ms = %(now_ms)s
WHERE id = ANY (%(ids)s)
RETURNING {columns}
