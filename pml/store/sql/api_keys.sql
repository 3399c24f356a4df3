-- name: create
INSERT INTO api_key (id, name, role, key_hash, created_at_ms, revoked_at_ms, used_at_ms)
VALUES (%(id)s, %(name)s, %(role)s, %(key_hash)s, %(created_at_ms)s, %(revoked_at_ms)s,
        %(used_at_ms)s)
ON CONFLICT DO NOTHING

-- name: find
SELECT {columns}
FROM api_key
WHERE key_hash = %(key_hash)s AND revoked_at_ms IS NULL

-- name: get
SELECT {columns}
FROM api_key
WHERE id = %(id)s

-- name: used
UPDATE api_key
SET used_at_ms = greatest(used_at_ms, %(now_ms)s)
WHERE id = %(id)s

-- name: all
SELECT {columns}
FROM api_key
ORDER BY name COLLATE "C", created_at_ms, id

-- name: revoke
UPDATE api_key
SET revoked_at_ms = %(now_ms)s
WHERE id = %(id)s AND revoked_at_ms IS NULL
RETURNING {columns}
