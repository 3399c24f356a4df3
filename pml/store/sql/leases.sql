-- clock_timestamp, not now: the lease counts from when it is written.
-- name: renew
INSERT INTO lease (owner, expires_at)
VALUES (%(owner)s, clock_timestamp() + make_interval(secs => %(ttl_s)s))
ON CONFLICT (user_id, owner) DO UPDATE SET expires_at = excluded.expires_at

-- name: release
DELETE FROM lease
WHERE owner = %(owner)s
