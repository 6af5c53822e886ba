/* Invalid files: damaged, truncated, locked, read-only, of another version, missing. A damaged file
 * is used by a separate process, so that a crash is counted and the other cases still run. For a
 * single seed: damage_test --seed N. */
#include "crash/kit.h"

#include <fcntl.h>
#include <inttypes.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#define ERR(name) (UINT32_C(1) << PAWL_ERR_##name)
#define DAMAGE (ERR(CORRUPT) | ERR(SCHEMA) | ERR(IO) | ERR(READONLY))

enum { JOBS = 40, HEADER_BYTES = 100, NOBODY = 65534, BUSY_MS = 100 };

static uint64_t seed;
static char dir[KIT_PATH_BYTES];
static char path[KIT_PATH_BYTES];
static char url[KIT_PATH_BYTES];
static struct kit_clock test_clock;
static struct kit_retry retry;

/* A file's content, to be damaged again and again. */
struct image {
    unsigned char *at;
    size_t len;
};
static struct image sound; /* of a store with JOBS jobs in many states, closed */

/* ---- files ---- */

static struct image image_read(const char *file)
{
    struct image image = { 0 };
    int fd = open(file, O_RDONLY | O_CLOEXEC);
    struct stat st;
    if (fd < 0 || fstat(fd, &st) != 0) abort();
    image.len = (size_t)st.st_size;
    image.at = malloc(image.len + 1);
    if (!image.at || read(fd, image.at, image.len) != (ssize_t)image.len) abort();
    close(fd);
    return image;
}

static void image_write(const char *file, const void *at, size_t len)
{
    kit_store_remove(file);
    int fd = open(file, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
    if (fd < 0 || write(fd, at, len) != (ssize_t)len) abort();
    close(fd);
}

static bool same_content(const struct image *image)
{
    struct image now = image_read(path);
    bool same = now.len == image->len && memcmp(now.at, image->at, now.len) == 0;
    free(now.at);
    return same;
}

static void sql(const char *text)
{
    sqlite3 *db = NULL;
    assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
    assert_int_equal(sqlite3_exec(db, text, NULL, NULL, NULL), SQLITE_OK);
    assert_int_equal(sqlite3_close(db), SQLITE_OK);
}

/* ---- the store ---- */

static struct pawl_config config_of(void)
{
    return (struct pawl_config){
        .store = url, .clock = &test_clock.clock, .busy_timeout_ms = BUSY_MS, .seed = 1
    };
}

static enum pawl_err open_with(const struct pawl_config *config, struct pawl__store **out,
                               struct pawl_diag *diag)
{
    *out = NULL;
    *diag = (struct pawl_diag){ 0 };
    return pawl__store_open(config, out, diag);
}

static enum pawl_err submit(struct pawl__store *store, uint64_t number, struct pawl_diag *diag)
{
    struct pawl_job_spec spec = { .type = "keep", .queue = number % 2 ? "odd" : "even" };
    char args[2000];
    memset(args, ' ', sizeof args);
    args[0] = '[';
    args[sizeof args - 1] = ']';
    spec.args = (struct pawl_span){ args, sizeof args };
    struct pawl__new_job job;
    struct pawl_submitted out;
    kit_new_job(&job, &spec, kit_job_id(number, 0, false), &retry);
    struct pawl__op op = { .kind = PAWL__OP_SUBMIT,
                           .diag = diag,
                           .submit = { .jobs = &job, .count = 1, .out = &out } };
    enum pawl_err err = pawl__store_do(store, &op);
    pawl__arena_release(&op.arena);
    return err;
}

/* Claim one and end it in one of several ways. */
static enum pawl_err work(struct pawl__store *store, int way, struct pawl_diag *diag)
{
    static const char *const queues[] = { "odd", "even" };
    struct pawl__op op = {
        .kind = PAWL__OP_CLAIM,
        .diag = diag,
        .claim = { .queues = queues, .queue_count = 2, .limit = 1, .worker = "w", .lease_ms = 1000 }
    };
    enum pawl_err err = pawl__store_do(store, &op);
    struct pawl_run ref = { 0 };
    if (!err && op.claim.job_count) {
        ref = (struct pawl_run){ op.claim.jobs[0].id, op.claim.jobs[0].run };
    }
    pawl__arena_release(&op.arena);
    if (err || !ref.run || way == 0) return err;
    op = (struct pawl__op){ .kind = PAWL__OP_COMPLETE, .diag = diag, .complete = { .ref = ref } };
    if (way == 2) {
        op = (struct pawl__op){ .kind = PAWL__OP_FAIL,
                                .diag = diag,
                                .fail = { .ref = ref, .report = { .message = "no" } } };
    }
    err = pawl__store_do(store, &op);
    pawl__arena_release(&op.arena);
    return err;
}

static void make_sound(void)
{
    struct pawl_config config = config_of();
    struct pawl__store *store;
    struct pawl_diag diag;
    kit_store_remove(path);
    assert_int_equal(open_with(&config, &store, &diag), PAWL_OK);
    for (uint64_t i = 0; i < JOBS; i++) {
        assert_int_equal(submit(store, 1 + i, &diag), PAWL_OK);
    }
    for (int i = 0; i < JOBS / 2; i++) {
        assert_int_equal(work(store, i % 3, &diag), PAWL_OK);
    }
    pawl__store_close(store);
    free(sound.at);
    sound = image_read(path);
}

static void expect_open(const struct pawl_config *config, uint32_t errors, const char *within)
{
    struct pawl__store *store;
    struct pawl_diag diag;
    enum pawl_err err = open_with(config, &store, &diag);
    if (!(errors & (UINT32_C(1) << err))) {
        print_error("open gave %s: %s\n", pawl_err_name(err), diag.text);
    }
    assert_true(errors & (UINT32_C(1) << err));
    assert_null(store);
    assert_int_equal(diag.err, err);
    if (!strstr(diag.text, within)) print_error("the text is: %s\n", diag.text);
    assert_non_null(strstr(diag.text, within));
}

/* ---- what is done with a damaged file ---- */

static void count_finding(void *ctx, const char *finding)
{
    ++*(int *)ctx;
}

/* An error must say something. */
static void note_silence(enum pawl_err err, struct pawl_diag *diag, const char *what,
                         const char **wrong)
{
    if (err && !diag->text[0]) *wrong = what;
    diag->text[0] = '\0';
}

static void check_damaged(struct pawl__store *store, bool *noticed, const char **wrong)
{
    struct pawl_diag diag = { 0 };
    int findings = 0;
    enum pawl_err err = pawl__store_check(store, count_finding, &findings, &diag);
    *noticed = err != PAWL_OK;
    if (err && !(DAMAGE & (UINT32_C(1) << err))) *wrong = "check fails unclearly";
    if (err == PAWL_ERR_CORRUPT && !findings) *wrong = "check found damage and reported none";
    if (!err && findings) *wrong = "check reported damage and is content";
}

static void read_damaged(struct pawl__store *store, const char **wrong)
{
    struct pawl__arena arena = { 0 };
    struct pawl_jobs jobs = { 0 };
    struct pawl_stats stats = { 0 };
    struct pawl_diag diag = { 0 };
    struct pawl_filter filter = { .archived = true };
    struct pawl_page page = { .limit = 100, .count = true };
    note_silence(pawl__store_query(store, &filter, &page, &arena, &jobs, &diag), &diag,
                 "query fails without a word", wrong);
    note_silence(pawl__store_stats(store, &arena, &stats, &diag), &diag,
                 "statistics fail without a word", wrong);
    for (uint64_t i = 0; i < JOBS; i++) {
        struct pawl_story story = { 0 };
        note_silence(
            pawl__store_story(store, kit_job_id(1 + i, 0, false), NULL, &arena, &story, &diag),
            &diag, "story fails without a word", wrong);
    }
    pawl__arena_release(&arena);
}

static void write_damaged(struct pawl__store *store, const char **wrong)
{
    struct pawl_diag diag = { 0 };
    for (int i = 0; i < 6; i++) {
        enum pawl_err err = i % 2 ? work(store, i / 2, &diag)
                                  : submit(store, 1000 + (uint64_t)i, &diag);
        note_silence(err, &diag, "a write fails without a word", wrong);
        kit_clock_advance(&test_clock, 700); // now and then it may reopen itself
    }
}

/* As much as one can do with it. Returns what is wrong with the way it fails, or NULL. Sets
 * `*noticed` when something said that the file is damaged. */
static const char *use_damaged(bool *noticed)
{
    struct pawl_config config = config_of();
    struct pawl__store *store;
    struct pawl_diag diag;
    enum pawl_err err = open_with(&config, &store, &diag);
    *noticed = err != PAWL_OK;
    if (err) return DAMAGE & (UINT32_C(1) << err) && diag.text[0] ? NULL : "open fails unclearly";
    const char *wrong = NULL;
    check_damaged(store, noticed, &wrong);
    read_damaged(store, &wrong);
    write_damaged(store, &wrong);
    pawl__store_close(store);
    return wrong;
}

/* In a process of its own. */
static void try_damaged(struct kit_complaints *complaints, const char *what, bool must_notice)
{
    enum { WRONG = 10, NOTICED = 20, UNNOTICED = 21 };
    fflush(NULL);
    pid_t pid = fork();
    if (pid == 0) {
        bool noticed = false;
        const char *wrong = use_damaged(&noticed);
        if (wrong) fprintf(stderr, "damage: %s: %s\n", what, wrong);
        _exit(wrong ? WRONG : noticed ? NOTICED : UNNOTICED);
    }
    int status = 0;
    assert_int_equal(waitpid(pid, &status, 0), pid);
    int code = WIFEXITED(status) ? WEXITSTATUS(status) : 0;
    if (WIFSIGNALED(status)) {
        kit_complain(complaints, "%s: died of signal %d", what, WTERMSIG(status));
    } else if (code != NOTICED && code != UNNOTICED) {
        kit_complain(complaints, "%s: ended with %d", what, code);
    } else if (must_notice && code == UNNOTICED) {
        kit_complain(complaints, "%s: nobody noticed", what);
    }
}

/* ---- damaged ---- */

static void survives_a_damaged_header(void **state)
{
    struct kit_complaints complaints = { .suite = "damage" };
    unsigned char *copy = malloc(sound.len);
    assert_non_null(copy);
    for (size_t i = 0; i < HEADER_BYTES; i++) {
        char what[64];
        snprintf(what, sizeof what, "header byte %zu", i);
        memcpy(copy, sound.at, sound.len);
        copy[i] ^= 0xff;
        image_write(path, copy, sound.len);
        try_damaged(&complaints, what, i < 16); // the magic
    }
    free(copy);
    assert_int_equal(complaints.count, 0);
}

/* Every page says in its first byte what it is, or whom it leads to. */
static void notices_a_page_that_is_not_what_it_was(void **state)
{
    struct kit_complaints complaints = { .suite = "damage" };
    unsigned char *copy = malloc(sound.len);
    assert_non_null(copy);
    size_t page_bytes = (size_t)sound.at[16] << 8 | sound.at[17];
    if (page_bytes == 1) page_bytes = 65536;
    for (size_t at = 0; at < sound.len; at += page_bytes) {
        char what[64];
        snprintf(what, sizeof what, "page %zu", at / page_bytes + 1);
        memcpy(copy, sound.at, sound.len);
        copy[at ? at : HEADER_BYTES] ^= 0xff;
        image_write(path, copy, sound.len);
        try_damaged(&complaints, what, true);
    }
    free(copy);
    assert_int_equal(complaints.count, 0);
}

static void survives_random_damage(void **state)
{
    struct kit_complaints complaints = { .suite = "damage" };
    struct pawl__rng rng;
    pawl__rng_seed(&rng, seed);
    unsigned char *copy = malloc(sound.len);
    assert_non_null(copy);
    int64_t trials = kit_scaled(150, 10);
    for (int64_t i = 0; i < trials; i++) {
        char what[96];
        snprintf(what, sizeof what, "seed %" PRIu64 ", damage %" PRId64, seed, i);
        memcpy(copy, sound.at, sound.len);
        uint64_t flips = 1 + pawl__rng_below(&rng, 40);
        while (flips--) {
            copy[pawl__rng_below(&rng, sound.len)] ^=
                (unsigned char)(1 + pawl__rng_below(&rng, 255));
        }
        image_write(path, copy, sound.len);
        try_damaged(&complaints, what, false);
    }
    free(copy);
    assert_int_equal(complaints.count, 0);
}

/* Rows that SQLite finds in order, and the lifecycle does not. */
struct nonsense {
    const char *sql;
    bool structural; /* the check compares tables with each other, not values with their meaning */
};

static const struct nonsense nonsense[] = {
    { "UPDATE pawl_job SET lane = 999", true },
    { "UPDATE pawl_job SET retry = 'not JSON'", false },
    { "UPDATE pawl_job SET keys = x'00'", false },
    { "UPDATE pawl_job SET tags = '{'", false },
    { "UPDATE pawl_ready SET key = key + 1", true },
    { "UPDATE pawl_ready SET run = -5", false },
    { "UPDATE pawl_active SET run = 9223372036854775807", false },
    { "UPDATE pawl_lane SET queue_id = 77 + id", true },
    { "DELETE FROM pawl_lane", true },
    { "DELETE FROM pawl_queue", true },
    { "DELETE FROM pawl_job", true },
    { "DELETE FROM pawl_active", true },
    { "DELETE FROM pawl_ready", true },
    { "DELETE FROM pawl_count", true },
    { "DROP TABLE pawl_ready", true },
    { "INSERT INTO pawl_ready SELECT lane, rank, key, 1, 0, 0 FROM pawl_job WHERE true "
      "ON CONFLICT DO NOTHING",
      true },
};

static void survives_rows_that_make_no_sense(void **state)
{
    struct kit_complaints complaints = { .suite = "damage" };
    for (size_t i = 0; i < KIT_COUNT(nonsense); i++) {
        sqlite3 *db = NULL;
        image_write(path, sound.at, sound.len);
        assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
        sqlite3_exec(db, "PRAGMA ignore_check_constraints = ON", NULL, NULL, NULL);
        int rc = sqlite3_exec(db, nonsense[i].sql, NULL, NULL, NULL);
        if (rc) print_error("%s: %s\n", nonsense[i].sql, sqlite3_errmsg(db));
        assert_int_equal(rc, SQLITE_OK);
        sqlite3_close(db);
        try_damaged(&complaints, nonsense[i].sql, nonsense[i].structural);
    }
    assert_int_equal(complaints.count, 0);
}

static void notices_a_file_that_was_cut(void **state)
{
    struct kit_complaints complaints = { .suite = "damage" };
    for (size_t eighth = 1; eighth < 8; eighth++) {
        size_t len = sound.len * eighth / 8 + (eighth % 2 ? 0 : 100);
        char what[64];
        snprintf(what, sizeof what, "cut to %zu of %zu bytes", len, sound.len);
        image_write(path, sound.at, len);
        try_damaged(&complaints, what, true);
    }
    image_write(path, sound.at, HEADER_BYTES / 2);
    try_damaged(&complaints, "cut within the header", true);
    assert_int_equal(complaints.count, 0);
}

static void refuses_what_is_not_a_database(void **state)
{
    struct pawl_config config = config_of();
    static const char text[] = "Dear diary, today I was not a database. ";
    char content[9000];
    for (size_t i = 0; i < sizeof content; i++) {
        content[i] = text[i % (sizeof text - 1)];
    }
    image_write(path, content, sizeof content);
    expect_open(&config, ERR(CORRUPT), "");
    struct image before = { (unsigned char *)content, sizeof content };
    assert_true(same_content(&before));
}

static void makes_a_store_of_an_empty_file(void **state)
{
    struct pawl_config config = config_of();
    struct pawl__store *store;
    struct pawl_diag diag;
    image_write(path, "", 0);
    assert_int_equal(open_with(&config, &store, &diag), PAWL_OK);
    assert_int_equal(submit(store, 1, &diag), PAWL_OK);
    pawl__store_close(store);
}

/* ---- not to be written ---- */

/* Permissions do not stop root: be nobody for a while, on all threads. */
static void expect_open_as_nobody(uint32_t errors)
{
    struct pawl_config config = config_of();
    bool root = geteuid() == 0;
    if (root) assert_int_equal(seteuid(NOBODY), 0);
    struct pawl__store *store;
    struct pawl_diag diag;
    enum pawl_err err = open_with(&config, &store, &diag);
    if (root) assert_int_equal(seteuid(0), 0);
    if (err == PAWL_OK) pawl__store_close(store);
    if (!(errors & (UINT32_C(1) << err))) {
        print_error("open gave %s: %s\n", pawl_err_name(err), diag.text);
    }
    assert_true(errors & (UINT32_C(1) << err));
    if (!strstr(diag.text, path)) print_error("the text is: %s\n", diag.text);
    assert_non_null(strstr(diag.text, path));
}

static void says_that_the_file_is_read_only(void **state)
{
    image_write(path, sound.at, sound.len);
    assert_int_equal(chmod(path, 0444), 0);
    assert_int_equal(chmod(dir, 0777), 0);
    expect_open_as_nobody(ERR(READONLY));
    assert_true(same_content(&sound));
    assert_int_equal(chmod(dir, 0700), 0);
}

static void says_that_the_directory_is_read_only(void **state)
{
    image_write(path, sound.at, sound.len);
    assert_int_equal(chmod(path, 0666), 0);
    assert_int_equal(chmod(dir, 0555), 0);
    expect_open_as_nobody(ERR(READONLY) | ERR(IO));
    kit_store_remove(path);
    expect_open_as_nobody(ERR(READONLY) | ERR(IO));
    assert_int_equal(chmod(dir, 0700), 0);
}

/* ---- locked ---- */

static void gives_up_on_a_lock_and_goes_on_after_it(void **state)
{
    image_write(path, sound.at, sound.len);
    struct kit_clock ticking;
    kit_clock_init(&ticking, KIT_START_MS, true);
    struct pawl_config config = config_of();
    config.clock = &ticking.clock;
    struct pawl__store *store;
    struct pawl_diag diag;
    assert_int_equal(open_with(&config, &store, &diag), PAWL_OK);
    sqlite3 *other = NULL;
    assert_int_equal(sqlite3_open(path, &other), SQLITE_OK);
    assert_int_equal(sqlite3_exec(other, "BEGIN EXCLUSIVE", NULL, NULL, NULL), SQLITE_OK);
    for (int i = 0; i < 2; i++) {
        int64_t began_us = kit_mono_us();
        assert_int_equal(submit(store, 500, &diag), PAWL_ERR_BUSY);
        int64_t took_us = kit_mono_us() - began_us;
        assert_true(took_us >= BUSY_MS * 1000 / 2 && took_us < 10000000);
        assert_non_null(strstr(diag.text, "another process"));
    }
    int64_t count = -1; // reading goes on
    assert_int_equal(pawl__store_count(store, &(struct pawl_filter){ 0 }, &count, &diag), PAWL_OK);
    assert_int_equal(count, JOBS);
    assert_int_equal(sqlite3_exec(other, "ROLLBACK", NULL, NULL, NULL), SQLITE_OK);
    sqlite3_close(other);
    assert_int_equal(submit(store, 500, &diag), PAWL_OK); // not refused as unsafe
    assert_int_equal(pawl__store_count(store, &(struct pawl_filter){ 0 }, &count, &diag), PAWL_OK);
    assert_int_equal(count, JOBS + 1);
    struct pawl__store_counters counters;
    pawl__store_counters_get(store, &counters);
    assert_int_equal(counters.reopened, 0);
    pawl__store_close(store);
}

static void does_not_create_what_another_process_is_creating(void **state)
{
    struct pawl_config config = config_of();
    kit_store_remove(path);
    sqlite3 *other = NULL;
    assert_int_equal(sqlite3_open(path, &other), SQLITE_OK);
    assert_int_equal(sqlite3_exec(other, "BEGIN EXCLUSIVE", NULL, NULL, NULL), SQLITE_OK);
    expect_open(&config, ERR(BUSY), "another process");
    assert_int_equal(sqlite3_exec(other, "ROLLBACK", NULL, NULL, NULL), SQLITE_OK);
    sqlite3_close(other);
    struct pawl__store *store;
    struct pawl_diag diag;
    assert_int_equal(open_with(&config, &store, &diag), PAWL_OK);
    pawl__store_close(store);
}

/* ---- of another version ---- */

static void refuses_a_newer_schema(void **state)
{
    struct pawl_config config = config_of();
    image_write(path, sound.at, sound.len);
    sql("INSERT INTO pawl_migration SELECT max(version) + 1, 'x', 1 FROM pawl_migration");
    struct image before = image_read(path);
    expect_open(&config, ERR(SCHEMA), "newer");
    assert_true(same_content(&before));
    free(before.at);
}

static void refuses_a_migration_that_was_changed(void **state)
{
    struct pawl_config config = config_of();
    image_write(path, sound.at, sound.len);
    sql("UPDATE pawl_migration SET checksum = replace(checksum, 'a', 'b') || 'c'");
    struct image before = image_read(path);
    expect_open(&config, ERR(SCHEMA), "migration");
    assert_true(same_content(&before));
    free(before.at);
}

static void refuses_a_migration_that_is_missing(void **state)
{
    struct pawl_config config = config_of();
    image_write(path, sound.at, sound.len);
    sql("DELETE FROM pawl_migration WHERE version = 1");
    expect_open(&config, ERR(SCHEMA), "");
}

static void does_not_migrate_when_told_so(void **state)
{
    struct pawl_config config = config_of();
    config.no_migrate = true;
    image_write(path, "", 0);
    expect_open(&config, ERR(SCHEMA), "migrate");
}

/* ---- not there ---- */

static void does_not_create_what_must_exist(void **state)
{
    struct pawl_config config = config_of();
    config.must_exist = true;
    kit_store_remove(path);
    expect_open(&config, ERR(NOT_FOUND), path);
    assert_int_equal(access(path, F_OK), -1);
    struct pawl_schema schema;
    struct pawl_diag diag = { 0 };
    assert_int_equal(pawl__store_schema(&config, &schema, &diag), PAWL_ERR_NOT_FOUND);
    assert_int_equal(access(path, F_OK), -1);
}

static void names_a_directory_that_is_missing(void **state)
{
    struct pawl_config config = config_of();
    char missing[KIT_PATH_BYTES + 64];
    snprintf(missing, sizeof missing, "sqlite:%s/no/such/place.db", dir);
    config.store = missing;
    expect_open(&config, ERR(IO) | ERR(NOT_FOUND), "no/such/place.db");
}

static void refuses_a_directory(void **state)
{
    struct pawl_config config = config_of();
    char folder[KIT_PATH_BYTES + 64];
    snprintf(folder, sizeof folder, "sqlite:%s", dir);
    config.store = folder;
    expect_open(&config, ERR(ARG) | ERR(IO), "directory");
}

/* ---- main ---- */

static int set_up(void **state)
{
    kit_dir_make_fast(dir);
    snprintf(path, sizeof path, "%.480s/damage.db", dir);
    kit_url(url, dir, "damage.db");
    kit_clock_init(&test_clock, KIT_START_MS, false);
    kit_retry_init(&retry, 3, 1000);
    make_sound();
    return 0;
}

static int tear_down(void **state)
{
    kit_retry_release(&retry);
    free(sound.at);
    kit_dir_remove(dir);
    return 0;
}

int main(int argc, char **argv)
{
    seed = kit_seed();
    if (argc == 3 && strcmp(argv[1], "--seed") == 0) seed = kit_number(argv[2]);
    fprintf(stderr, "# damage: seed %" PRIu64 "\n", seed);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(survives_a_damaged_header),
        cmocka_unit_test(notices_a_page_that_is_not_what_it_was),
        cmocka_unit_test(survives_random_damage),
        cmocka_unit_test(survives_rows_that_make_no_sense),
        cmocka_unit_test(notices_a_file_that_was_cut),
        cmocka_unit_test(refuses_what_is_not_a_database),
        cmocka_unit_test(makes_a_store_of_an_empty_file),
        cmocka_unit_test(says_that_the_file_is_read_only),
        cmocka_unit_test(says_that_the_directory_is_read_only),
        cmocka_unit_test(gives_up_on_a_lock_and_goes_on_after_it),
        cmocka_unit_test(does_not_create_what_another_process_is_creating),
        cmocka_unit_test(refuses_a_newer_schema),
        cmocka_unit_test(refuses_a_migration_that_was_changed),
        cmocka_unit_test(refuses_a_migration_that_is_missing),
        cmocka_unit_test(does_not_migrate_when_told_so),
        cmocka_unit_test(does_not_create_what_must_exist),
        cmocka_unit_test(names_a_directory_that_is_missing),
        cmocka_unit_test(refuses_a_directory),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
