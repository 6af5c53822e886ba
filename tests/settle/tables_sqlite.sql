-- The tables of tables.h on SQLite: all that a rule with tables of its own needs of it.

-- name: join_load
SELECT {{join.fields of j}}
FROM pawl_set_join_put AS s
CROSS JOIN test_join AS j ON j.child = s.child

-- name: edge_load
SELECT {{edge.fields of e}}
FROM pawl_set_edge_put AS s
CROSS JOIN test_edge AS e ON e.parent = s.parent

-- name: set_join_new
INSERT INTO test_join ({{join.fields}})
SELECT {{join.fields}}
FROM pawl_set_join_new

-- name: set_join_put
UPDATE test_join
SET pending = s.pending
FROM pawl_set_join_put AS s
WHERE test_join.child = s.child

-- name: set_join_drop
DELETE FROM test_join
WHERE child IN (SELECT child FROM pawl_set_join_drop)

-- name: set_edge_new
INSERT INTO test_edge ({{edge.fields}})
SELECT {{edge.fields}}
FROM pawl_set_edge_new

-- name: set_edge_put
UPDATE test_edge
SET verdict = s.verdict
FROM pawl_set_edge_put AS s
WHERE test_edge.parent = s.parent AND test_edge.child = s.child
