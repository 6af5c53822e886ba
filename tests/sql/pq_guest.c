/* An application in C with a connection of its own to PostgreSQL. One command a line, one answer:
 *
 *     sql TEXT               "OK", or what the server says
 *     submit TYPE ARGS KEY   "ID" and what else is said of it; KEY is a business key, "-" none
 *     complete ID RUN JSON   "OK", or the error's name, field and text
 *     fail ID RUN            as complete
 *     give_back ID RUN MS    as complete
 *
 * Usage: pq_guest URL */
#include <pawl/pawl.h>
#include <pawl/pq.h>

#include <libpq-fe.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void answer(enum pawl_err err, const struct pawl_diag *diag)
{
    if (err) {
        printf("%s %s: %s\n", pawl_err_name(err), diag->field, diag->text);
    } else {
        printf("OK\n");
    }
}

static void sql(PGconn *pg, const char *text)
{
    PGresult *result = PQexec(pg, text);
    const char *said = PQresultErrorField(result, PG_DIAG_MESSAGE_PRIMARY);
    printf("%s\n", said ? said : "OK");
    PQclear(result);
}

static void submit(PGconn *pg, const char *type, const char *args, const char *key)
{
    static const char *const tags[] = { "One", "two \"quoted\"" };
    struct pawl_job_spec spec = { .type = type,
                                  .args = { args, strlen(args) },
                                  .business_key = strcmp(key, "-") == 0 ? NULL : key,
                                  .tags = tags,
                                  .tag_count = 2,
                                  .priority = 3,
                                  .timeout_ms = 1500,
                                  .retry = { .attempts_max = 4, .coefficient = 1.5 },
                                  .unique = { .keys = PAWL_UNIQUE_ARGS | PAWL_UNIQUE_QUEUE,
                                              .on_conflict = PAWL_CONFLICT_IGNORE } };
    struct pawl_submitted out;
    struct pawl_diag diag;
    enum pawl_err err = pawl_submit_pq(pg, &spec, &out, &diag);
    if (err) {
        answer(err, &diag);
        return;
    }
    char text[PAWL_JOB_ID_TEXT_BYTES];
    pawl_job_id_text(out.id, text);
    printf("%s %s%s\n", text, pawl_state_name(out.state, PAWL_VOCABULARY_PAWL),
           out.deduplicated ? " deduplicated" : "");
}

static void fail(PGconn *pg, const struct pawl_run *run)
{
    struct pawl_diag diag;
    struct pawl_report report = { .message = "boom", .retry_after_ms = 5000 };
    answer(pawl_fail_pq(pg, run, &report, &diag), &diag);
}

int main(int argc, char **argv)
{
    PGconn *pg = argc == 2 ? PQconnectdb(argv[1]) : NULL;
    char line[1024], first[256], second[256], third[256];
    if (PQstatus(pg) != CONNECTION_OK) return 1;
    while (fgets(line, sizeof line, stdin)) {
        third[0] = '\0';
        struct pawl_run run = { .run = 0 };
        struct pawl_diag diag;
        long long number;
        if (strncmp(line, "sql ", 4) == 0) {
            sql(pg, line + 4);
        } else if (sscanf(line, "submit %255s %255s %255s", first, second, third) == 3) {
            submit(pg, first, second, third);
        } else if (sscanf(line, "%255s %255s %lld %255s", first, second, &number, third) >= 3 &&
                   !pawl_job_id_parse(second, &run.id)) {
            run.run = number;
            if (strcmp(first, "complete") == 0) {
                answer(
                    pawl_complete_pq(pg, &run, (struct pawl_span){ third, strlen(third) }, &diag),
                    &diag);
            } else if (strcmp(first, "fail") == 0) {
                fail(pg, &run);
            } else {
                answer(pawl_give_back_pq(pg, &run, strtoll(third, NULL, 10), &diag), &diag);
            }
        } else {
            printf("what?\n");
        }
        fflush(stdout);
    }
    PQfinish(pg);
    return 0;
}
