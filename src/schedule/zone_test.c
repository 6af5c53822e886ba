/* Zones: names, damaged files, footers, and files that change while they are in use. */
#include "schedule/inside.h"

#include "schedule/test_kit.h"

#include <sys/stat.h>
#include <unistd.h>

enum { FILE_BYTES_MAX = 1024 };

/* ---- making files ---- */

/* A TZif file in memory. */
struct made {
    uint8_t at[FILE_BYTES_MAX];
    size_t len;
};

static void put(struct made *file, int64_t value, int bytes)
{
    for (int i = bytes - 1; i >= 0; i--) {
        assert_true(file->len < FILE_BYTES_MAX);
        file->at[file->len++] = i < 8 ? (uint8_t)((uint64_t)value >> 8 * i) : 0;
    }
}

struct wanted {
    const struct pawl__zone_change *changes; /* the first offset is `first_s` */
    size_t count;
    int32_t first_s;
    int leaps;
    char version; /* ['2'] */
    const char *footer;
};

static void put_header(struct made *file, const struct wanted *wanted, size_t times, size_t types)
{
    memcpy(file->at + file->len, "TZif", 4);
    file->len += 4;
    put(file, wanted->version ? wanted->version : '2', 1);
    for (int i = 0; i < 15; i++) {
        put(file, 0, 1);
    }
    put(file, 0, 4);
    put(file, 0, 4);
    put(file, wanted->leaps, 4);
    put(file, (int64_t)times, 4);
    put(file, (int64_t)types, 4);
    put(file, 4, 4);
}

static struct made make(const struct wanted *wanted)
{
    struct made file = { .len = 0 };
    put_header(&file, wanted, 0, 1); // a first block as slim as it may be
    put(&file, 0, 6);
    put(&file, 0, 4);
    for (int i = 0; i < wanted->leaps; i++) {
        put(&file, 0, 8);
    }
    put_header(&file, wanted, wanted->count, wanted->count + 1);
    for (size_t i = 0; i < wanted->count; i++) {
        put(&file, wanted->changes[i].at_s, 8);
    }
    for (size_t i = 0; i < wanted->count; i++) {
        put(&file, (int64_t)i + 1, 1);
    }
    for (size_t i = 0; i <= wanted->count; i++) {
        put(&file, i == 0 ? wanted->first_s : wanted->changes[i - 1].offset_s, 4);
        put(&file, 0, 2);
    }
    put(&file, 0, 4);
    for (int i = 0; i < wanted->leaps; i++) {
        put(&file, 0, 12);
    }
    put(&file, '\n', 1);
    for (const char *c = wanted->footer; c && *c; c++) {
        put(&file, *c, 1);
    }
    put(&file, '\n', 1);
    return file;
}

static const struct pawl__zone *parsed(const struct wanted *wanted)
{
    struct made file = make(wanted);
    const struct pawl__zone *zone = NULL;
    struct pawl_diag diag;
    if (pawl__zone_parse("Test/Zone", file.at, file.len, &zone, &diag)) fail_msg("%s", diag.text);
    return zone;
}

static void assert_refused(const struct made *file, const char *why)
{
    const struct pawl__zone *zone;
    struct pawl_diag diag = { 0 };
    assert_int_equal(pawl__zone_parse("Test/Zone", file->at, file->len, &zone, &diag),
                     PAWL_ERR_ARG);
    assert_string_equal(diag.field, "zone");
    if (!strstr(diag.text, why)) fail_msg("\"%s\" does not say \"%s\"", diag.text, why);
}

/* ---- names ---- */

static void names_have_two_or_three_parts(void **state)
{
    static const char *const names[] = { "UTC", "Europe/Berlin", "America/Argentina/Cordoba",
                                         "Etc/GMT+5", "America/Port-au-Prince" };
    static const char *const others[] = {
        "",
        "utc",
        "CET",
        "GMT",
        "Z",
        "+02:00",
        "a//b",
        "/a/b",
        "a/b/",
        "a/b/c/d",
        "../etc/tz",
        "a/..",
        "a/b c",
        "posix/Europe/Berlin",
        "right/UTC",
        "Europe/Berl\xc3\xadn",
        "a/bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb",
    };
    for (size_t i = 0; i < COUNT(names); i++) {
        if (!pawl__zone_is_name(names[i])) fail_msg("\"%s\" is one", names[i]);
    }
    for (size_t i = 0; i < COUNT(others); i++) {
        if (pawl__zone_is_name(others[i])) fail_msg("\"%s\" is none", others[i]);
    }
}

static void utc_needs_no_file(void **state)
{
    struct pawl__zones *zones = pawl__zones_new("/nowhere");
    const struct pawl__zone *zone = NULL;
    assert_int_equal(pawl__zones_get(zones, "UTC", &zone, NULL), PAWL_OK);
    assert_ptr_equal(zone, pawl__zone_utc());
    assert_string_equal(pawl__zone_name(zone), "UTC");
    assert_int_equal(pawl__zone_offset(zone, 0), 0);
    pawl__zone_unref(pawl__zone_ref(zone));
    pawl__zone_unref(NULL);
    assert_int_equal(pawl__zones_get(zones, "Europe/Berlin", &zone, NULL), PAWL_ERR_ARG);
    pawl__zones_free(zones);
    pawl__zones_free(NULL);
}

/* ---- files ---- */

static const struct pawl__zone_change changes[] = { { 0, 3600 },
                                                    { 1000000, 7200 },
                                                    { 2000000, 3600 } };
static const struct wanted plain = {
    .changes = changes, .count = 3, .first_s = -60, .footer = "ABC-1"
};

static void files_are_read(void **state)
{
    const struct pawl__zone *zone = parsed(&plain);
    assert_int_equal(pawl__zone_offset(zone, -1), -60);
    assert_int_equal(pawl__zone_offset(zone, 0), 3600);
    assert_int_equal(pawl__zone_offset(zone, 999999999), 3600);
    assert_int_equal(pawl__zone_offset(zone, 1000000000), 7200);
    assert_int_equal(pawl__zone_offset(zone, 2000000000), 3600);
    assert_int_equal(pawl__zone_offset(zone, INT64_C(7000000000000)), 3600);
    assert_string_equal(pawl__zone_name(zone), "Test/Zone");
    pawl__zone_unref(zone);
}

static void digests_differ_with_the_rules(void **state)
{
    struct pawl__zone_change moved[] = { { 0, 3600 }, { 1000000, 7200 }, { 2000001, 3600 } };
    struct pawl__zone_change idle[] = {
        { 0, 3600 }, { 1000000, 7200 }, { 2000000, 3600 }, { INT32_MAX, 3600 }
    };
    struct wanted other = plain, same = plain;
    other.changes = moved;
    same.changes = idle; // the last one changes nothing, as in fat files
    same.count = COUNT(idle);
    const struct pawl__zone *a = parsed(&plain), *b = parsed(&other), *c = parsed(&same);
    assert_true(pawl__zone_digest(a) != pawl__zone_digest(b));
    assert_true(pawl__zone_digest(a) == pawl__zone_digest(c));
    pawl__zone_unref(a);
    pawl__zone_unref(b);
    pawl__zone_unref(c);
}

static void useless_files_are_refused(void **state)
{
    struct wanted wanted = plain;
    struct made file = make(&wanted);
    file.at[0] = 'X';
    assert_refused(&file, "not a TZif file");
    wanted.version = '1';
    file = make(&wanted);
    assert_refused(&file, "no 64-bit times");
    wanted = plain;
    wanted.leaps = 1;
    file = make(&wanted);
    assert_refused(&file, "leap seconds");
    wanted = plain;
    wanted.first_s = 27 * 3600;
    file = make(&wanted);
    assert_refused(&file, "offset");
    struct pawl__zone_change unsorted[] = { { 50, 0 }, { 50, 1 } };
    wanted = (struct wanted){ .changes = unsorted, .count = 2 };
    file = make(&wanted);
    assert_refused(&file, "not in order");
    struct pawl__zone_change close[] = { { 0, 0 }, { 3599, 1 } };
    wanted.changes = close;
    file = make(&wanted);
    assert_refused(&file, "too close");
    wanted = plain;
    wanted.footer = "CET-1CEST,M3.5.0";
    file = make(&wanted);
    assert_refused(&file, "footer");
    file = make(&plain);
    file.at[44 + 10 + 44 + 24] = 9; // the type of the first change
    assert_refused(&file, "no type");
    file.at[44 + 10 + 39] = 0; // how many types there are
    assert_refused(&file, "types");
    file.at[44 + 10 + 33] = 0xFF; // how many changes
    assert_refused(&file, "too many changes");
}

static void cut_files_are_refused(void **state)
{
    struct made file = make(&plain);
    const struct pawl__zone *zone;
    for (size_t len = 0; len < file.len; len++) {
        uint8_t *copy = malloc(len + 1); // so that a sanitizer sees a read past its end
        memcpy(copy, file.at, len);
        assert_int_equal(pawl__zone_parse("Test/Zone", copy, len, &zone, NULL), PAWL_ERR_ARG);
        free(copy);
    }
}

static void damaged_files_do_no_harm(void **state)
{
    for_seeds(seed, 3000)
    {
        struct pawl__rng rng;
        struct wanted wanted = plain;
        wanted.footer = seed % 2 ? "<+1030>-10:30<+11>-11,M10.1.0,M4.1.0" : "EST5EDT,0/0,J365/25";
        struct made file = make(&wanted);
        pawl__rng_seed(&rng, seed);
        for (int edits = 1 + (int)pawl__rng_below(&rng, 5); edits > 0; edits--) {
            file.at[pawl__rng_below(&rng, file.len)] = (uint8_t)pawl__rng_below(&rng, 256);
        }
        const struct pawl__zone *zone;
        if (pawl__zone_parse("Test/Zone", file.at, file.len, &zone, NULL)) continue;
        struct pawl__timetable table = { .zone = zone };
        assert_int_equal(pawl__cron_parse("30 2 * * *", 0, &table.cron, NULL, NULL), PAWL_OK);
        int64_t at = (int64_t)pawl__rng_below(&rng, INT64_C(7258118400000));
        for (int i = 0; i < 20 && at != PAWL__NEVER; i++) {
            int64_t next = pawl__timetable_next(&table, at);
            prove(next > at &&
                  (next == PAWL__NEVER || pawl__timetable_next(&table, next - 1) == next));
            at = next;
        }
        pawl__zone_unref(zone);
    }
}

/* ---- footers ---- */

static void footers_go_on_for_ever(void **state)
{
    static const struct {
        const char *footer, *at;
        int32_t offset_s;
    } samples[] = {
        { "CET-1CEST,M3.5.0,M10.5.0/3", "2100-07-01T00:00:00Z", 7200 },
        { "CET-1CEST,M3.5.0,M10.5.0/3", "2199-12-31T00:00:00Z", 3600 },
        { "CET-1CEST,M3.5.0,M10.5.0/3", "2100-03-28T00:59:59Z", 3600 },
        { "CET-1CEST,M3.5.0,M10.5.0/3", "2100-03-28T01:00:00Z", 7200 },
        { "<+1030>-10:30<+11>-11,M10.1.0,M4.1.0", "2100-01-01T00:00:00Z", 39600 },
        { "<+1030>-10:30<+11>-11,M10.1.0,M4.1.0", "2100-07-01T00:00:00Z", 37800 },
        { "IST-1GMT0,M10.5.0,M3.5.0/1", "2100-01-01T00:00:00Z", 0 }, // negative DST
        { "IST-1GMT0,M10.5.0,M3.5.0/1", "2100-07-01T00:00:00Z", 3600 },
        { "EST5EDT,0/0,J365/25", "2100-01-01T05:00:00Z", -14400 }, // daylight saving all year
        { "EST5EDT,0/0,J365/25", "2100-12-31T23:59:59Z", -14400 },
        { "<-02>2<-01>,M3.5.0/-1,M10.5.0/0", "2100-03-28T00:59:59Z", -7200 },
        { "<-02>2<-01>,M3.5.0/-1,M10.5.0/0", "2100-03-28T01:00:00Z", -3600 },
        { "ABC0YYY,J60,J300", "2104-03-01T01:59:59Z", 0 }, // day 60 is 1 March in any year
        { "ABC0YYY,J60,J300", "2104-03-01T02:00:00Z", 3600 },
        { "ABC0YYY,59,299", "2104-02-29T02:00:00Z", 3600 }, // counted with the leap day
        { "ABC-0:20:30", "2100-01-01T00:00:00Z", 1230 },
        { "", "2100-01-01T00:00:00Z", 3600 },
    };
    for (size_t i = 0; i < COUNT(samples); i++) {
        struct wanted wanted = plain;
        wanted.footer = samples[i].footer;
        bool constant = strcmp(samples[i].footer, "ABC-0:20:30") == 0;
        struct pawl__zone_change last = { 0, 1230 };
        if (constant) wanted.changes = &last, wanted.count = 1;
        const struct pawl__zone *zone = parsed(&wanted);
        int32_t offset = pawl__zone_offset(zone, Z(samples[i].at));
        if (offset != samples[i].offset_s) {
            fail_msg("%s at %s: %d", samples[i].footer, samples[i].at, offset);
        }
        pawl__zone_unref(zone);
    }
}

static void broken_footers_are_refused(void **state)
{
    static const char *const footers[] = {
        "X",
        "CET",
        "CET-",
        "CET-25",
        "CET-1:60",
        "<CET-1",
        "<C>-1",
        "CET-1CEST",
        "CET-1CEST,M3.5",
        "CET-1CEST,M13.5.0,M3.1.0",
        "CET-1CEST,M3.5.7,M3.1.0",
        "CET-1CEST,M3.5.0,M10.5.0/168",
        "CET-1CEST,J0,J5",
        "CET-1CEST,366,5",
        "CET-1CEST,1,2x",
        "CET-1CEST-2:,1,2",
        "CET-0001",
    };
    struct pawl__zone_change out[PAWL__ZONE_RULE_CHANGES_MAX];
    size_t count;
    for (size_t i = 0; i < COUNT(footers); i++) {
        if (pawl__zone_rule(footers[i], strlen(footers[i]), out, &count)) {
            fail_msg("\"%s\" is taken", footers[i]);
        }
    }
}

/* ---- pieces ---- */

/* Forward by two hours and, ninety minutes later, back by one: half an hour of local time comes
 * again, and half an hour that was lost is seen for the first time. */
static void what_was_lost_may_come_later(void **state)
{
    const int64_t day = 20000 * (int64_t)S_PER_DAY;
    struct pawl__zone_change odd[] = { { day, 7200 }, { day + 5400, 3600 } };
    struct wanted wanted = { .changes = odd, .count = 2, .footer = "ABC-1" };
    struct pawl__timetable table = { .zone = parsed(&wanted) };
    // At 02:30 UTC of the clocks' own, local 03:30 becomes 02:30, which has been; so has 03:29.
    assert_int_equal(pawl__cron_parse("0,30 1,2,3 * * *", 0, &table.cron, NULL, NULL), PAWL_OK);
    int64_t at = day * 1000 - 1;
    static const int minutes[] = { 0, 30, 60,
                                   150 }; // local 02:00, 02:30, 03:00, and 03:30 again new
    for (size_t i = 0; i < COUNT(minutes); i++) {
        at = pawl__timetable_next(&table, at);
        assert_true(at == (day + minutes[i] * 60) * 1000);
    }
    pawl__zone_unref(table.zone);
    // Back by two hours after one forward by three: the local times between 01:00 and 02:30 are
    // new.
    struct pawl__zone_change wide[] = { { day, 10800 }, { day + 3600, 0 } };
    wanted.changes = wide;
    wanted.footer = "ABC0";
    table.zone = parsed(&wanted);
    assert_int_equal(pawl__cron_parse("0 0-5 * * *", 0, &table.cron, NULL, NULL), PAWL_OK);
    at = day * 1000 - 1;
    static const int hours[] = { 0, 1, 2, 4, 5 }; // local 03:00, 01:00, 02:00, then 04:00
    for (size_t i = 0; i < COUNT(hours); i++) {
        at = pawl__timetable_next(&table, at);
        assert_true(at == (day + hours[i] * 3600) * 1000);
    }
    pawl__zone_unref(table.zone);
}

/* ---- files that change ---- */

struct folder {
    char path[64];
    char file[96];
};

static void write_zone(const struct folder *folder, const struct wanted *wanted)
{
    struct made made = make(wanted);
    char beside[128];
    snprintf(beside, sizeof beside, "%s.new", folder->file);
    FILE *out = fopen(beside, "w");
    assert_non_null(out);
    assert_int_equal(fwrite(made.at, 1, made.len, out), made.len);
    fclose(out);
    assert_int_equal(rename(beside, folder->file), 0); // another inode
}

static struct folder make_folder(void)
{
    struct folder folder;
    char parent[80];
    snprintf(folder.path, sizeof folder.path, "/tmp/pawl-zones-XXXXXX");
    assert_non_null(mkdtemp(folder.path));
    snprintf(parent, sizeof parent, "%s/Test", folder.path);
    assert_int_equal(mkdir(parent, 0700), 0);
    snprintf(folder.file, sizeof folder.file, "%s/Zone", parent);
    return folder;
}

static void remove_folder(struct folder *folder)
{
    char parent[80];
    snprintf(parent, sizeof parent, "%s/Test", folder->path);
    (void)unlink(folder->file);
    assert_int_equal(rmdir(parent), 0);
    assert_int_equal(rmdir(folder->path), 0);
}

static void changed_files_are_read_again(void **state)
{
    const int64_t minute_us = 60000000;
    struct folder folder = make_folder();
    struct pawl__zones *zones = pawl__zones_new(folder.path);
    const struct pawl__zone *first = NULL, *second = NULL, *third = NULL, *none = NULL;
    struct pawl__zone_change other[] = { { 0, 5400 } };
    struct wanted changed = { .changes = other, .count = 1, .footer = "ABC-1:30" };
    write_zone(&folder, &plain);
    assert_int_equal(pawl__zones_get(zones, "Test/Zone", &first, NULL), PAWL_OK);
    uint64_t start = pawl__zones_refresh(zones, 0);
    assert_int_equal(pawl__zones_refresh(zones, minute_us), start); // nothing has changed
    write_zone(&folder, &changed);
    assert_int_equal(pawl__zones_refresh(zones, 2 * minute_us - 1), start); // not yet
    assert_int_equal(pawl__zones_get(zones, "Test/Zone", &second, NULL), PAWL_OK);
    assert_ptr_equal(second, first);
    uint64_t after = pawl__zones_refresh(zones, 2 * minute_us);
    assert_true(after > start);
    assert_int_equal(pawl__zones_get(zones, "Test/Zone", &third, NULL), PAWL_OK);
    assert_int_equal(pawl__zone_offset(third, 1000), 5400);
    assert_int_equal(pawl__zone_offset(first, 1000), 3600); // is still held
    // The same rules in another file are no change.
    write_zone(&folder, &changed);
    assert_int_equal(pawl__zones_refresh(zones, 3 * minute_us), after);
    // A file that vanishes, stays away, and comes back.
    assert_int_equal(unlink(folder.file), 0);
    uint64_t vanished = pawl__zones_refresh(zones, 4 * minute_us);
    assert_true(vanished > after);
    assert_int_equal(pawl__zones_get(zones, "Test/Zone", &none, NULL), PAWL_ERR_ARG);
    assert_int_equal(pawl__zones_refresh(zones, 5 * minute_us), vanished);
    write_zone(&folder, &changed);
    assert_true(pawl__zones_refresh(zones, 6 * minute_us) > vanished);
    pawl__zone_unref(first);
    pawl__zone_unref(second);
    pawl__zone_unref(third);
    assert_int_equal(pawl__zones_get(zones, "Test/Zone", &third, NULL), PAWL_OK);
    pawl__zones_free(zones);
    assert_int_equal(pawl__zone_offset(third, 1000), 5400); // outlives the table of names
    pawl__zone_unref(third);
    remove_folder(&folder);
}

static void a_zone_that_comes_back_is_noticed_by_who_asks_first(void **state)
{
    struct folder folder = make_folder();
    struct pawl__zones *zones = pawl__zones_new(folder.path);
    const struct pawl__zone *zone = NULL;
    write_zone(&folder, &plain);
    assert_int_equal(pawl__zones_get(zones, "Test/Zone", &zone, NULL), PAWL_OK);
    pawl__zone_unref(zone);
    assert_int_equal(unlink(folder.file), 0);
    uint64_t vanished = pawl__zones_refresh(zones, 0);
    write_zone(&folder, &plain);
    assert_int_equal(pawl__zones_get(zones, "Test/Zone", &zone, NULL), PAWL_OK);
    pawl__zone_unref(zone);
    assert_true(pawl__zones_refresh(zones, 1) > vanished);
    pawl__zones_free(zones);
    remove_folder(&folder);
}

static void broken_files_say_what_is_wrong(void **state)
{
    struct folder folder = make_folder();
    struct pawl__zones *zones = pawl__zones_new(folder.path);
    const struct pawl__zone *zone = NULL;
    struct pawl_diag diag;
    FILE *out = fopen(folder.file, "w");
    fputs("not a zone", out);
    fclose(out);
    assert_int_equal(pawl__zones_get(zones, "Test/Zone", &zone, &diag), PAWL_ERR_ARG);
    assert_string_equal(diag.text,
                        "the file of zone \"Test/Zone\" cannot be used: it is not a TZif file");
    assert_int_equal(pawl__zones_get(zones, "Test/Other", &zone, &diag), PAWL_ERR_ARG);
    assert_string_equal(diag.text, "there is no time zone \"Test/Other\"");
    assert_int_equal(truncate(folder.file, 300 * 1024), 0);
    assert_int_equal(pawl__zones_get(zones, "Test/Zone", &zone, &diag), PAWL_ERR_ARG);
    assert_non_null(strstr(diag.text, "too large"));
    assert_int_equal(unlink(folder.file), 0);
    assert_int_equal(mkdir(folder.file, 0700), 0); // a folder is no file
    assert_int_equal(pawl__zones_get(zones, "Test/Zone", &zone, &diag), PAWL_ERR_ARG);
    assert_int_equal(rmdir(folder.file), 0);
    pawl__zones_free(zones);
    remove_folder(&folder);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(names_have_two_or_three_parts),
        cmocka_unit_test(utc_needs_no_file),
        cmocka_unit_test(files_are_read),
        cmocka_unit_test(digests_differ_with_the_rules),
        cmocka_unit_test(useless_files_are_refused),
        cmocka_unit_test(cut_files_are_refused),
        cmocka_unit_test(damaged_files_do_no_harm),
        cmocka_unit_test(footers_go_on_for_ever),
        cmocka_unit_test(broken_footers_are_refused),
        cmocka_unit_test(what_was_lost_may_come_later),
        cmocka_unit_test(changed_files_are_read_again),
        cmocka_unit_test(a_zone_that_comes_back_is_noticed_by_who_asks_first),
        cmocka_unit_test(broken_files_say_what_is_wrong),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
