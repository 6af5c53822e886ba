-- Schedules: the working set, those that are due, and reads. What is wanted of a table is shown by
-- the virtual table of a list that is written to it.

-- name: schedule_load
SELECT {{schedule.fields of t}}
FROM pawl_set_schedule_put AS s
CROSS JOIN pawl_schedule AS t ON t.name = s.name

-- name: schedule_plan_load
SELECT {{schedule.plan_fields of t}}
FROM pawl_set_schedule_plan_put AS s
CROSS JOIN pawl_schedule_plan AS t ON t.name = s.name

-- name: schedule_member_load
SELECT {{schedule.member_fields of t}}
FROM pawl_set_schedule_member_put AS s
CROSS JOIN pawl_schedule_member AS t ON t.id = s.id

-- name: schedule_due
SELECT {{schedule.fields}}
FROM pawl_schedule
WHERE look_at_ms <= :now_ms
ORDER BY look_at_ms, name
LIMIT :limit

-- name: schedule_next
SELECT look_at_ms
FROM pawl_schedule
WHERE look_at_ms IS NOT NULL
ORDER BY look_at_ms
LIMIT 1

-- name: set_schedule_new
INSERT INTO pawl_schedule ({{schedule.fields}})
SELECT {{schedule.fields}}
FROM pawl_set_schedule_new

-- name: set_schedule_put
INSERT OR REPLACE INTO pawl_schedule ({{schedule.fields}})
SELECT {{schedule.fields}}
FROM pawl_set_schedule_put

-- name: set_schedule_drop
DELETE FROM pawl_schedule
WHERE name IN (SELECT name FROM pawl_set_schedule_drop)

-- name: set_schedule_plan_new
INSERT INTO pawl_schedule_plan ({{schedule.plan_fields}})
SELECT {{schedule.plan_fields}}
FROM pawl_set_schedule_plan_new

-- name: set_schedule_plan_put
INSERT OR REPLACE INTO pawl_schedule_plan ({{schedule.plan_fields}})
SELECT {{schedule.plan_fields}}
FROM pawl_set_schedule_plan_put

-- name: set_schedule_plan_drop
DELETE FROM pawl_schedule_plan
WHERE name IN (SELECT name FROM pawl_set_schedule_plan_drop)

-- name: set_schedule_member_new
INSERT INTO pawl_schedule_member ({{schedule.member_fields}})
SELECT {{schedule.member_fields}}
FROM pawl_set_schedule_member_new

-- name: set_schedule_member_put
INSERT OR REPLACE INTO pawl_schedule_member ({{schedule.member_fields}})
SELECT {{schedule.member_fields}}
FROM pawl_set_schedule_member_put

-- name: set_schedule_member_drop
DELETE FROM pawl_schedule_member
WHERE id IN (SELECT id FROM pawl_set_schedule_member_drop)

-- name: set_firing
INSERT INTO pawl_firing ({{firing.fields}})
SELECT {{firing.fields}}
FROM pawl_set_firing

-- name: set_firing_cut
DELETE FROM pawl_firing
WHERE (schedule, number) IN (
    SELECT f.schedule, f.number
    FROM pawl_set_firing_cut AS s
    CROSS JOIN pawl_firing AS f ON f.schedule = s.schedule AND f.number <= s.number
)

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
WHERE s.name > :name AND (:states = 0 OR (1 << s.state) & :states <> 0)
    AND (:prefix = '' OR substr(s.name, 1, length(:prefix)) = :prefix)
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
