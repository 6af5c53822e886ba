-- Schedules. The row of pawl_schedule is the lock of what belongs to it, and is waited for: all
-- schedules that a batch is about are read by one statement, in order.

-- name: schedule_load
SELECT {{schedule.fields}}
FROM pawl_schedule
WHERE name = ANY (:name)
ORDER BY name
FOR NO KEY UPDATE

-- name: schedule_plan_load
SELECT {{schedule.plan_fields}}
FROM pawl_schedule_plan
WHERE name = ANY (:name)

-- name: schedule_member_load
SELECT {{schedule.member_fields}}
FROM pawl_schedule_member
WHERE id = ANY (:id)

-- name: schedule_due
-- A schedule that another transaction holds is being fired already.
SELECT {{schedule.fields}}
FROM pawl_schedule
WHERE look_at_ms <= :now_ms
ORDER BY look_at_ms
LIMIT :limit
FOR NO KEY UPDATE SKIP LOCKED

-- name: schedule_next
SELECT look_at_ms
FROM pawl_schedule
WHERE look_at_ms IS NOT NULL
ORDER BY look_at_ms
LIMIT 1

-- name: set_schedule_new
INSERT INTO pawl_schedule ({{schedule.fields}})
SELECT {{schedule.fields of g}}
FROM unnest({{schedule.fields bound}}) AS g ({{schedule.fields}})

-- name: set_schedule_put
UPDATE pawl_schedule AS t
SET {{schedule.fields set g | no name}}
FROM unnest({{schedule.fields bound}}) AS g ({{schedule.fields}})
CROSS JOIN LATERAL (
    SELECT ctid AS place
    FROM pawl_schedule
    WHERE name = g.name
    OFFSET 0
) AS k
WHERE t.ctid = k.place

-- name: set_schedule_drop
DELETE FROM pawl_schedule AS t
USING unnest({{schedule.fields bound}}) AS g ({{schedule.fields}})
CROSS JOIN LATERAL (
    SELECT ctid AS place
    FROM pawl_schedule
    WHERE name = g.name
    OFFSET 0
) AS k
WHERE t.ctid = k.place

-- name: set_schedule_plan_new
INSERT INTO pawl_schedule_plan ({{schedule.plan_fields}})
SELECT {{schedule.plan_fields of g}}
FROM unnest({{schedule.plan_fields bound}}) AS g ({{schedule.plan_fields}})

-- name: set_schedule_plan_put
UPDATE pawl_schedule_plan AS t
SET {{schedule.plan_fields set g | no name}}
FROM unnest({{schedule.plan_fields bound}}) AS g ({{schedule.plan_fields}})
CROSS JOIN LATERAL (
    SELECT ctid AS place
    FROM pawl_schedule_plan
    WHERE name = g.name
    OFFSET 0
) AS k
WHERE t.ctid = k.place

-- name: set_schedule_plan_drop
DELETE FROM pawl_schedule_plan AS t
USING unnest({{schedule.plan_fields bound}}) AS g ({{schedule.plan_fields}})
CROSS JOIN LATERAL (
    SELECT ctid AS place
    FROM pawl_schedule_plan
    WHERE name = g.name
    OFFSET 0
) AS k
WHERE t.ctid = k.place

-- name: set_schedule_member_new
INSERT INTO pawl_schedule_member ({{schedule.member_fields}})
SELECT {{schedule.member_fields of g}}
FROM unnest({{schedule.member_fields bound}}) AS g ({{schedule.member_fields}})

-- name: set_schedule_member_put
UPDATE pawl_schedule_member AS t
SET {{schedule.member_fields set g | no id}}
FROM unnest({{schedule.member_fields bound}}) AS g ({{schedule.member_fields}})
CROSS JOIN LATERAL (
    SELECT ctid AS place
    FROM pawl_schedule_member
    WHERE id = g.id
    OFFSET 0
) AS k
WHERE t.ctid = k.place

-- name: set_schedule_member_drop
DELETE FROM pawl_schedule_member AS t
USING unnest({{schedule.member_fields bound}}) AS g ({{schedule.member_fields}})
CROSS JOIN LATERAL (
    SELECT ctid AS place
    FROM pawl_schedule_member
    WHERE id = g.id
    OFFSET 0
) AS k
WHERE t.ctid = k.place

-- name: set_firing
INSERT INTO pawl_firing ({{firing.fields}})
SELECT {{firing.fields of g}}
FROM unnest({{firing.fields bound}}) AS g ({{firing.fields}})

-- name: set_firing_cut
DELETE FROM pawl_firing AS f
USING unnest({{firing.cut_fields bound}}) AS g ({{firing.cut_fields}})
CROSS JOIN LATERAL (
    SELECT ctid AS place
    FROM pawl_firing
    WHERE schedule = g.schedule AND number <= g.number
    OFFSET 0
) AS k
WHERE f.ctid = k.place

-- Schedules; of a page their rows, and then their definitions.

-- name: schedule_one
SELECT {{schedule.fields}}
FROM pawl_schedule
WHERE name = :name

-- name: schedule_plan_one
SELECT {{schedule.plan_fields}}
FROM pawl_schedule_plan
WHERE name = :name

-- fragment: schedule_page
FROM pawl_schedule AS s
WHERE s.name > :name AND (:states = 0 OR (1::bigint << s.state) & :states <> 0)
    AND (:prefix = '' OR left(s.name, length(:prefix)) = :prefix)
    AND (:owner = '' OR s.owner = :owner)
ORDER BY s.name
LIMIT :limit

-- name: schedule_list
SELECT {{schedule.fields of s}}
{{schedule_page}}

-- name: schedule_plan_list
SELECT {{schedule.plan_fields of p}}
FROM pawl_schedule_plan AS p
WHERE p.name IN (
    SELECT s.name
{{schedule_page}}
)
ORDER BY p.name

-- name: firing_list
SELECT {{firing.fields}}
FROM pawl_firing
WHERE schedule = :name AND number < :before
ORDER BY number DESC
LIMIT :limit
