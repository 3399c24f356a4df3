-- name: all
SELECT source, target, edge_type AS type, edge_source, weight, count
FROM tool_dependency
ORDER BY source, target, edge_type
