-- The tables of tables.h on PostgreSQL: all that a rule with tables of its own needs of it. An edge
-- is only changed by who has the row of its parent.

-- name: join_load
-- Not waited for: two transactions meet their joins in different orders. What another one has
-- locked is there with its key alone, behind the other columns.
SELECT {{join.fields of t}}, l.child
FROM test_join AS l
LEFT JOIN LATERAL (
    SELECT {{join.fields}}
    FROM test_join
    WHERE child = l.child
    FOR UPDATE SKIP LOCKED
) AS t ON true
WHERE l.child = ANY (:child)

-- name: edge_load
SELECT {{edge.fields}}
FROM test_edge
WHERE parent = ANY (:parent)
ORDER BY parent, child

-- name: set_join_new
INSERT INTO test_join ({{join.fields}})
SELECT {{join.fields of g}}
FROM unnest({{join.fields bound}}) AS g ({{join.fields}})

-- name: set_join_put
UPDATE test_join AS j
SET pending = g.pending
FROM unnest({{join.fields bound}}) AS g ({{join.fields}})
WHERE j.child = g.child

-- name: set_join_drop
DELETE FROM test_join
WHERE child = ANY (ARRAY (
    SELECT g.child
    FROM unnest({{join.fields bound}}) AS g ({{join.fields}})
))

-- name: set_edge_new
INSERT INTO test_edge ({{edge.fields}})
SELECT {{edge.fields of g}}
FROM unnest({{edge.fields bound}}) AS g ({{edge.fields}})

-- name: set_edge_put
UPDATE test_edge AS e
SET verdict = g.verdict
FROM unnest({{edge.fields bound}}) AS g ({{edge.fields}})
WHERE e.parent = g.parent AND e.child = g.child
