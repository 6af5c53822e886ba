/* Answers the questions of oracle_test.py, one line each, fields separated by tabs:
 *
 *     fires ZONE GAP FROM_MS UNTIL_MS EXPRESSION    the instants in [from, until], then "|" and
 *                                                   the gaps there as INSTANT:COUNT
 *     offsets ZONE AT_MS...                         the offsets in seconds
 *
 * What must hold of any expression is checked here: next(t) = next(next(t) - 1), previous is its
 * inverse, and counting gives as many instants as walking. */
#include "schedule/schedule.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { LINE_BYTES = 65536 };

#define must(condition)                                                                            \
    do {                                                                                           \
        if (!(condition)) {                                                                        \
            fprintf(stderr, "%s does not hold for \"%s\"\n", #condition, question);                \
            exit(1);                                                                               \
        }                                                                                          \
    } while (0)

static const char *question = "";

static char *next_field(char **rest)
{
    char *field = strsep(rest, "\t");
    must(field);
    return field;
}

static int64_t next_number(char **rest)
{
    return strtoll(next_field(rest), NULL, 10);
}

static void print_fires(const struct pawl__timetable *table, int64_t from, int64_t until)
{
    int32_t count = 0;
    int64_t first = 0, last = 0, before = PAWL__NEVER;
    for (int64_t at = pawl__timetable_next(table, from - 1); at <= until;
         at = pawl__timetable_next(table, at)) {
        must(at >= from && (count == 0 || at > last));
        must(pawl__timetable_next(table, at - 1) == at);
        if (count % 64 == 0) {
            must(pawl__timetable_previous(table, at + 1) == at);
            must(count == 0 || pawl__timetable_previous(table, at) == before);
        }
        if (count == 0) first = at;
        before = last = at;
        count++;
        printf("%" PRId64 " ", at);
    }
    struct pawl__passed passed = pawl__timetable_passed(table, from, until);
    must(passed.count == (count < PAWL__PASSED_MAX ? count : PAWL__PASSED_MAX));
    must(passed.first_at_ms == first && passed.last_at_ms == last);
}

static void answer_fires(struct pawl__zones *zones, char *rest)
{
    struct pawl__timetable table = { .zone = NULL };
    struct pawl_diag diag;
    const char *zone = next_field(&rest), *gap = next_field(&rest);
    int64_t from = next_number(&rest), until = next_number(&rest);
    table.gap = strcmp(gap, "shift") == 0 ? PAWL_GAP_SHIFT : PAWL_GAP_SKIP;
    must(pawl__zones_get(zones, zone, &table.zone, &diag) == PAWL_OK);
    must(pawl__cron_parse(rest, PAWL_DIALECT_AUTO, &table.cron, NULL, &diag) == PAWL_OK);
    print_fires(&table, from, until);
    printf("|");
    struct pawl__lost lost;
    for (int64_t at = from - 1; pawl__timetable_lost(&table, at, until, &lost);
         at = lost.gap_at_ms) {
        printf(" %" PRId64 ":%" PRId32, lost.gap_at_ms, lost.count);
    }
    printf("\n");
    pawl__zone_unref(table.zone);
}

static void answer_offsets(struct pawl__zones *zones, char *rest)
{
    const struct pawl__zone *zone = NULL;
    must(pawl__zones_get(zones, next_field(&rest), &zone, NULL) == PAWL_OK);
    while (rest) {
        printf("%d ", pawl__zone_offset(zone, next_number(&rest)));
    }
    printf("\n");
    pawl__zone_unref(zone);
}

int main(void)
{
    static char line[LINE_BYTES], copy[LINE_BYTES];
    struct pawl__zones *zones = pawl__zones_new(NULL);
    must(zones);
    while (fgets(line, sizeof line, stdin)) {
        char *rest = line;
        line[strcspn(line, "\n")] = '\0';
        memcpy(copy, line, sizeof copy);
        question = copy;
        const char *what = next_field(&rest);
        if (strcmp(what, "fires") == 0) {
            answer_fires(zones, rest);
        } else {
            answer_offsets(zones, rest);
        }
        fflush(stdout);
    }
    pawl__zones_free(zones);
    return 0;
}
