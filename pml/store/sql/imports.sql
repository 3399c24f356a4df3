-- name: add
INSERT INTO imported_trace (id, source, executed_at_ms, trace, imported_at_ms)
VALUES (%(id)s, %(source)s, %(executed_at_ms)s, %(trace)s, %(now_ms)s)
ON CONFLICT DO NOTHING

-- name: add_tool
INSERT INTO imported_tool (source, tool_id, tool)
VALUES (%(source)s, %(tool_id)s, %(tool)s)
ON CONFLICT (user_id, source, tool_id) DO UPDATE SET tool = excluded.tool

-- name: sources
SELECT source AS name, count(*) AS traces, max(imported_at_ms) AS imported_at_ms
FROM imported_trace
GROUP BY source
ORDER BY source COLLATE "C"

-- name: tools
SELECT DISTINCT ON (tool_id COLLATE "C") tool::text
FROM imported_tool
ORDER BY tool_id COLLATE "C", source COLLATE "C"

-- name: selected
SELECT executed_at_ms, id
FROM imported_trace
WHERE executed_at_ms >= %(since_ms)s
ORDER BY executed_at_ms DESC, id
LIMIT %(limit)s

-- name: several
SELECT trace::text
FROM unnest(%(ids)s::text[]) WITH ORDINALITY AS wanted (id, place)
JOIN imported_trace USING (id)
ORDER BY place

-- name: forget_tools
DELETE FROM imported_tool WHERE source = %(source)s

-- name: forget
DELETE FROM imported_trace WHERE source = %(source)s
