-- name: remember
INSERT INTO approval_grant (id, scope, granted_at_ms, granted_by, expires_at_ms, revoked_at_ms,
                            note)
VALUES (%(id)s, %(scope)s, %(granted_at_ms)s, %(granted_by)s, %(expires_at_ms)s,
        %(revoked_at_ms)s, %(note)s)
ON CONFLICT DO NOTHING

-- name: get
SELECT id, scope::text, granted_at_ms, granted_by, expires_at_ms, revoked_at_ms, note
FROM approval_grant
WHERE id = %(id)s

-- name: all
SELECT id, scope::text, granted_at_ms, granted_by, expires_at_ms, revoked_at_ms, note
FROM approval_grant
ORDER BY granted_at_ms DESC, id

-- name: active
SELECT id, scope::text, granted_at_ms, granted_by, expires_at_ms, revoked_at_ms, note
FROM approval_grant
WHERE revoked_at_ms IS NULL AND (expires_at_ms IS NULL OR expires_at_ms > %(now_ms)s)
ORDER BY granted_at_ms, id

-- name: revoke
UPDATE approval_grant
SET revoked_at_ms = %(now_ms)s
WHERE id = %(id)s AND revoked_at_ms IS NULL
RETURNING id, scope::text, granted_at_ms, granted_by, expires_at_ms, revoked_at_ms, note
