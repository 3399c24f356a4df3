-- name: write
INSERT INTO permission_audit_log (at_ms, event, actor, run_id, capability_id, tool,
                                  arguments_hmac, detail)
VALUES (%(at_ms)s, %(event)s, %(actor)s, %(run_id)s, %(capability_id)s, %(tool)s,
        %(arguments_hmac)s, %(detail)s)

-- name: recent
SELECT at_ms, event, actor, run_id, capability_id, tool, arguments_hmac, detail::text
FROM permission_audit_log
ORDER BY at_ms DESC, id DESC
LIMIT %(limit)s

-- name: recent_of_run
SELECT at_ms, event, actor, run_id, capability_id, tool, arguments_hmac, detail::text
FROM permission_audit_log
WHERE run_id = %(run_id)s
ORDER BY at_ms DESC, id DESC
LIMIT %(limit)s
