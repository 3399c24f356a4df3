-- The server's own binary form: no type needs to be known here.
-- name: read
SELECT key, text_hash, vector_send(vector)
FROM embedding
WHERE encoder = %(encoder)s
ORDER BY key COLLATE "C"

-- name: write
INSERT INTO embedding (encoder, key_hash, key, text_hash, vector)
VALUES (%(encoder)s, %(key_hash)s, %(key)s, %(text_hash)s, %(vector)b)
ON CONFLICT (user_id, encoder, key_hash)
DO UPDATE SET text_hash = excluded.text_hash, vector = excluded.vector

-- name: delete
DELETE FROM embedding
WHERE encoder = %(encoder)s AND key_hash = ANY (%(key_hashes)s::text[])
