/* What the program of tomorrow has beyond today's; included before src/store/postgres/migrate.c. */
#ifndef TESTS_POSTGRES_AHEAD_H
#define TESTS_POSTGRES_AHEAD_H

#define MIGRATIONS_AHEAD(X) X(2, migration_ahead, true)
#define PG_TEXT_migration_ahead "CREATE TABLE pawl_ahead (id integer)"

#define SCRIPT_AHEAD(X) X(script_ahead)
#define PG_TEXT_script_ahead                                                                       \
    "CREATE OR REPLACE FUNCTION pawl_ahead() RETURNS text LANGUAGE sql AS $$ SELECT 'ahead' $$"
#define SCRIPT_VERSION "99.0.0"

#endif
