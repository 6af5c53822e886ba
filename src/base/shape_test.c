/* Structs by tables: what is printed comes back, every spelling is read, and what is refused is
 * named. */
#include "base/shape.h"

#include "base/test_kit.h"

#include <pawl/pawl.h>

#include <pthread.h>

static const char *const colour_texts[] = { NULL, "red", "green", "blue" };
static const struct pawl__words colours = {
    .at = colour_texts, .count = 4, .any_case = true, .other = "rot", .other_is = 1
};

static bool is_short(const char *text)
{
    return strlen(text) < 3;
}
static const struct pawl__pattern shortness = { "^.{0,2}$", is_short, "must be short" };

struct point {
    int64_t x;
    double weight;
};

#define S struct point
static const struct pawl__member point_members[] = {
    PAWL__MEMBER("x", INT64, S, x, .flags = PAWL__NOT_ZERO),
    PAWL__MEMBER("weight", REAL, S, weight, .flags = PAWL__NEGATIVE, .extent = 3),
};
static const struct pawl__shape point_shape = PAWL__SHAPE(S, point_members);
#undef S

struct thing {
    const char *name;
    const char *note;
    char code[4];
    int64_t size;
    int32_t rank;
    uint32_t mask, set;
    bool on;
    uint32_t jitter;
    double real;
    uint32_t colour;
    int64_t at_ms, wait_ms, limit_ms;
    struct pawl_span any, args, meta;
    struct pawl_job_id id;
    const struct pawl_job_id *other;
    struct point point;
    int64_t row[2];
    const char *const *tags;
    size_t tag_count;
    const struct point *points;
    size_t point_count;
    const int32_t *numbers;
    size_t number_count;
    int32_t doubled;
    const char *brief;
    int64_t period_ms, end_ms;
    double share;
};

static enum pawl_err read_doubled(struct pawl__shape_reader *reader,
                                  const struct pawl__member *member, uint32_t token, void *base)
{
    static const struct pawl__member half = { .name = "doubled",
                                              .kind = PAWL__AS_INT32,
                                              .offset = offsetof(struct thing, doubled) };
    struct thing *thing = base;
    enum pawl_err err = pawl__shape_value(reader, &half, token, base);
    if (!err && thing->doubled % 2) return pawl__shape_refuse(reader, member, "is %s", "odd");
    thing->doubled /= 2;
    return err;
}

static void print_doubled(const struct pawl__shape_writer *writer,
                          const struct pawl__member *member, const void *base)
{
    const struct thing *thing = base;
    (void)member;
    if (thing->doubled) pawl__buf_add_int(writer->out, thing->doubled * 2);
}

#define S struct thing
static const struct pawl__member thing_members[] = {
    PAWL__MEMBER("name", TEXT, S, name, .flags = PAWL__REQUIRED, .min = 1, .max = 12),
    PAWL__MEMBER("note", NAME, S, note),
    PAWL__MEMBER("code", CHARS, S, code, .extent = 4),
    PAWL__MEMBER("size", INT64, S, size),
    PAWL__MEMBER("rank", INT32, S, rank, .min = -5, .max = 5, .flags = PAWL__ALWAYS),
    PAWL__MEMBER("mask", MASK, S, mask),
    PAWL__MEMBER("set", SET, S, set, .words = &colours),
    PAWL__MEMBER("on", BOOL, S, on),
    PAWL__MEMBER("jitter", SWITCH, S, jitter),
    PAWL__MEMBER("real", REAL, S, real),
    PAWL__MEMBER("colour", WORD, S, colour, .words = &colours),
    PAWL__MEMBER("color", WORD, S, colour, .words = &colours, .flags = PAWL__ALIAS),
    PAWL__MEMBER("at", INSTANT, S, at_ms),
    PAWL__MEMBER("wait", DURATION, S, wait_ms),
    PAWL__MEMBER("wait_ms", INT64, S, wait_ms, .flags = PAWL__ALIAS),
    PAWL__MEMBER("limit", SECONDS, S, limit_ms),
    PAWL__MEMBER("any", JSON, S, any),
    PAWL__MEMBER("args", ARRAY, S, args, .flags = PAWL__ALWAYS),
    PAWL__MEMBER("meta", OBJECT, S, meta),
    PAWL__MEMBER("id", ID, S, id),
    PAWL__MEMBER("other", ID_AT, S, other),
    PAWL__MEMBER("point", ONE, S, point, .shape = &point_shape),
    PAWL__MEMBER("row", ROW, S, row, .extent = 2),
    PAWL__MEMBER("tags", TEXTS, S, tags, PAWL__COUNTED(S, tag_count), .max = 3),
    PAWL__MEMBER("labels", TEXTS, S, tags, PAWL__COUNTED(S, tag_count),
                 .flags = PAWL__ALIAS | PAWL__NOT_ZERO),
    PAWL__MEMBER("brief", TEXT, S, brief, .pattern = &shortness),
    PAWL__MEMBER("period", PERIOD, S, period_ms, .flags = PAWL__NOT_ZERO),
    PAWL__MEMBER("points", MANY, S, points, PAWL__COUNTED(S, point_count), .shape = &point_shape),
    PAWL__MEMBER("numbers", INT32S, S, numbers, PAWL__COUNTED(S, number_count)),
    PAWL__WHOLE("doubled", OWN, .read = read_doubled, .print = print_doubled),
    PAWL__WHOLE("server", NOTHING),
    PAWL__MEMBER("size", BOOL, S, on), // the first of one name counts
    PAWL__MEMBER("", INT64, S, size),
};
static const struct pawl__shape thing_shape = PAWL__SHAPE(S, thing_members);
#undef S

static struct pawl_span span(const char *text)
{
    return (struct pawl_span){ text, strlen(text) };
}

static enum pawl_err read_by(struct pawl__shape_reader *reader, const char *text, struct thing *out)
{
    pawl__shape_clear(&thing_shape, out);
    return pawl__shape_read_text(reader, span(text), 8, &thing_shape, out);
}

static void must_print(const struct thing *thing, const char *text)
{
    struct pawl__buf out = { 0 };
    struct pawl__shape_writer writer = { .out = &out, .compact = true };
    pawl__shape_print(&writer, &thing_shape, thing);
    assert_false(out.failed);
    assert_string_equal(out.at, text);
    pawl__buf_release(&out);
}

static void what_is_printed_comes_back(void **state)
{
    static const char full[] =
        "{\"name\":\"a\\n\\\"\",\"note\":\"n\",\"code\":\"abc\",\"size\":-9223372036854775808,"
        "\"rank\":-5,\"mask\":4294967295,\"set\":[\"red\",\"blue\"],\"on\":true,\"jitter\":false,"
        "\"real\":0.1,\"colour\":\"green\",\"at\":\"2030-01-31T08:00:00.250Z\","
        "\"wait\":\"PT90.25S\",\"limit\":\"PT2S\",\"any\":null,\"args\":[1.50,\" \\\" x\"],"
        "\"meta\":{},\"id\":\"01020304-0506-7708-890a-0b0c0d0e0f10\","
        "\"other\":\"01020304-0506-7708-890a-0b0c0d0e0f10\",\"point\":{\"x\":1,\"weight\":0},"
        "\"row\":[1,0],\"tags\":[\"a\",\"\"],\"points\":[{\"x\":7,\"weight\":0.333},{\"weight\":0}"
        "],\"numbers\":[1,-2],\"doubled\":6}";
    struct pawl__arena arena = { .chunks = NULL };
    struct pawl_diag diag = { 0 };
    struct pawl__shape_reader reader = { .arena = &arena, .diag = &diag };
    struct thing thing;
    (void)state;
    if (read_by(&reader, full, &thing)) fail_msg("%s", diag.text);
    assert_int_equal(thing.set, 1 << 1 | 1 << 3);
    assert_int_equal(thing.jitter, 2);
    assert_int_equal(thing.doubled, 3);
    assert_int_equal(thing.wait_ms, 90250);
    must_print(&thing, full);
    thing.args = span(" [ 1.50 , \" \\\" x\" ]\n");
    must_print(&thing, full);
    pawl__arena_release(&arena);
}

static void what_is_absent_is_left_out_and_left_alone(void **state)
{
    struct pawl__arena arena = { .chunks = NULL };
    struct pawl__shape_reader reader = { .arena = &arena, .null_is_absent = true };
    struct thing thing;
    (void)state;
    assert_int_equal(read_by(&reader, "{\"name\":\"a\",\"any\":null,\"unheard\":1}", &thing), 0);
    assert_string_equal(thing.note, "");
    assert_int_equal(thing.any.len, 0);
    assert_non_null(thing.meta.at);
    thing.point.weight = -1;
    must_print(&thing, "{\"name\":\"a\",\"rank\":0,\"args\":[],\"row\":[0,0]}");
    thing.tag_count = 2;
    assert_int_equal(pawl__shape_read_text(&reader, span("{\"name\":\"b\",\"tags\":[]}"), 8,
                                           &thing_shape, &thing),
                     PAWL_OK);
    assert_int_equal(thing.tag_count, 0); // an empty list is there
    pawl__arena_release(&arena);
}

static void every_spelling_is_read(void **state)
{
    static const struct {
        const char *text;
        int64_t wait_ms, limit_ms, at_ms;
        uint32_t colour;
    } cases[] = {
        { "{\"name\":\"a\",\"wait\":\"1h30m\"}", 5400000, 0, 0, 0 },
        { "{\"name\":\"a\",\"wait_ms\":5}", 5, 0, 0, 0 },
        { "{\"name\":\"a\",\"limit\":5}", 0, 5000, 0, 0 },
        { "{\"name\":\"a\",\"limit\":\"PT1.5S\"}", 0, 1500, 0, 0 },
        { "{\"name\":\"a\",\"at\":\"+PT5S\"}", 0, 0, 6000, 0 },
        { "{\"name\":\"a\",\"at\":\"1970-01-01T00:00:07Z\"}", 0, 0, 7000, 0 },
        { "{\"name\":\"a\",\"color\":\"RED\"}", 0, 0, 0, 1 },
        { "{\"n\\u0061me\":\"a\",\"colour\":\"rot\"}", 0, 0, 0, 1 },
    };
    (void)state;
    for (size_t i = 0; i < COUNT(cases); i++) {
        struct pawl__arena arena = { .chunks = NULL };
        struct pawl_diag diag = { 0 };
        struct pawl__shape_reader reader = { .arena = &arena, .diag = &diag, .now_ms = 1000 };
        struct thing thing;
        if (read_by(&reader, cases[i].text, &thing)) fail_msg("%s", diag.text);
        assert_true(thing.wait_ms == cases[i].wait_ms && thing.limit_ms == cases[i].limit_ms);
        assert_true(thing.at_ms == cases[i].at_ms && thing.colour == cases[i].colour);
        pawl__arena_release(&arena);
    }
}

static void what_is_refused_is_named_with_the_rule(void **state)
{
    static const struct {
        const char *text, *field, *said;
    } cases[] = {
        { "{}", "name", "\"name\" is missing" },
        { "{\"name\":1}", "name", "\"name\" must be a string" },
        { "{\"name\":\"\"}", "name", "\"name\" must have 1 to 12 bytes" },
        { "{\"name\":\"a\\u0000\"}", "name", "\"name\" must be a string without NUL characters" },
        { "{\"code\":\"abcd\"}", "code", "\"code\" is too long" },
        { "{\"size\":1.5}", "size", "\"size\" must be a whole number" },
        { "{\"rank\":6}", "rank", "\"rank\" must be a whole number from -5 to 5" },
        { "{\"mask\":-1}", "mask", "\"mask\" must be a whole number from 0 to 4294967295" },
        { "{\"set\":[\"pink\"]}", "set",
          "\"set\" must be some of red, green and blue, not \"pink\"" },
        { "{\"set\":\"red\"}", "set", "\"set\" must be an array of strings" },
        { "{\"on\":1}", "on", "\"on\" must be true or false" },
        { "{\"real\":\"1\"}", "real", "\"real\" must be a number" },
        { "{\"colour\":\"pink\"}", "colour",
          "\"colour\" must be red, green or blue, not \"pink\"" },
        { "{\"at\":\"+PT5S\"}", "at",
          "\"at\" must be an instant such as \"2030-01-31T08:00:00Z\"" },
        { "{\"wait\":\"soon\"}", "wait", "\"wait\" must be a duration such as \"5s\" or \"PT5S\"" },
        { "{\"limit\":-1}", "limit",
          "\"limit\" must be a number of seconds or a duration such as \"5s\"" },
        { "{\"args\":{}}", "args", "\"args\" must be an array" },
        { "{\"meta\":[]}", "meta", "\"meta\" must be an object" },
        { "{\"id\":\"x\"}", "id", "\"id\" must be a UUID" },
        { "{\"point\":[]}", "point", "\"point\" must be an object" },
        { "{\"point\":{\"x\":0}}", "point.x", "\"point.x\" must be above zero" },
        { "{\"points\":[{\"weigth\":1}]}", "points.weigth",
          "\"points\" has no member \"weigth\"; did you mean \"weight\"?" },
        { "{\"row\":[1,2,3]}", "row", "\"row\" has too many elements" },
        { "{\"tags\":[\"a\",\"b\",\"c\",\"d\"]}", "tags", "\"tags\" must have 0 to 3 elements" },
        { "{\"tags\":[1]}", "tags", "\"tags\" must be a string" },
        { "{\"numbers\":[3000000000]}", "numbers",
          "\"numbers\" must be a whole number from -2147483648 to 2147483647" },
        { "{\"labels\":[\"\"]}", "labels",
          "\"labels\" must be an array of strings that are not empty" },
        { "{\"brief\":\"long\"}", "brief", "\"brief\" must be short" },
        { "{\"period\":\"5s\"}", "period",
          "\"period\" must be an ISO 8601 duration such as \"PT1.5S\"" },
        { "{\"period\":\"PT0S\"}", "period", "\"period\" must be above zero" },
        { "{\"doubled\":3}", "doubled", "\"doubled\" is odd" },
        { "{\"nmae\":1}", "nmae", "\"nmae\" is not a known member; did you mean \"name\"?" },
        { "[]", "", "this must be an object" },
    };
    (void)state;
    for (size_t i = 0; i < COUNT(cases); i++) {
        struct pawl__arena arena = { .chunks = NULL };
        struct pawl_diag diag = { 0 };
        struct pawl__shape_reader reader = {
            .arena = &arena, .diag = &diag, .unknown = PAWL__UNKNOWN_REFUSE, .paths = true
        };
        struct thing thing;
        assert_int_equal(read_by(&reader, cases[i].text, &thing), PAWL_ERR_ARG);
        assert_string_equal(diag.text, cases[i].said);
        assert_string_equal(diag.field, cases[i].field);
        pawl__arena_release(&arena);
    }
}

static enum pawl_err count_unknown(struct pawl__shape_reader *reader,
                                   const struct pawl__shape *shape, const char *name)
{
    assert_ptr_equal(shape, &thing_shape);
    assert_string_equal(pawl__shape_nearest(shape, name), "name");
    ++*(int *)reader->ctx;
    return PAWL_OK;
}

static void unknown_members_can_be_kept_as_they_stand(void **state)
{
    struct pawl__arena arena = { .chunks = NULL };
    int count = 0;
    struct pawl__shape_reader reader = {
        .arena = &arena, .unknown = PAWL__UNKNOWN_KEEP, .on_unknown = count_unknown, .ctx = &count
    };
    struct thing thing;
    struct pawl_span kept = { .at = NULL };
    (void)state;
    assert_int_equal(
        read_by(&reader, "{\"nam\\u0065s\": {\"a\" :1},\"name\":\"a\",\"nam\":[]}", &thing),
        PAWL_OK);
    assert_int_equal(pawl__shape_kept(&reader, &kept), PAWL_OK);
    assert_string_equal(kept.at, "{\"nam\\u0065s\":{\"a\" :1},\"nam\":[]}");
    assert_int_equal(count, 2);
    pawl__arena_release(&arena);
}

static void surfaces_choose_how_errors_name_members(void **state)
{
    struct pawl__arena arena = { .chunks = NULL };
    struct pawl_diag diag = { 0 };
    struct pawl__shape_reader reader = { .arena = &arena,
                                         .diag = &diag,
                                         .paths = true,
                                         .prefix = "options",
                                         .plain_names = true,
                                         .bits_are_bools = true };
    struct thing thing;
    (void)state;
    assert_int_equal(
        read_by(&reader, "{\"name\":\"a\",\"on\":1,\"points\":[{\"x\":\"\"}]}", &thing),
        PAWL_ERR_ARG);
    assert_true(thing.on);
    assert_string_equal(diag.text, "options.points.x must be a whole number");
    pawl__arena_release(&arena);
}

static void lists_take_no_more_memory_than_they_may(void **state)
{
    struct pawl__arena arena = { .chunks = NULL };
    struct pawl_diag diag = { 0 };
    struct pawl__shape_reader reader = { .arena = &arena,
                                         .diag = &diag,
                                         .list_bytes_max = 2 * sizeof(struct point) };
    struct thing thing;
    (void)state;
    assert_int_equal(read_by(&reader, "{\"name\":\"a\",\"points\":[{},{}]}", &thing), PAWL_OK);
    reader.list_bytes = 0;
    assert_int_equal(read_by(&reader, "{\"name\":\"a\",\"points\":[{},{},{}]}", &thing),
                     PAWL_ERR_LIMIT);
    assert_string_equal(diag.field, "points");
    pawl__arena_release(&arena);
}

static void an_object_can_be_written_without_a_table(void **state)
{
    struct pawl__buf out = { 0 };
    struct point point = { .x = 3, .weight = -1 };
    struct pawl__shape_writer writer = { .out = &out };
    const char *name = "queue";
    (void)state;
    PAWL__PRINT(&writer, PAWL__HERE(name, NAME, const char *, "mail"),
                PAWL__HERE("paused", BOOL, bool, false), PAWL__SOME("none", INT64, int64_t, 0),
                PAWL__PART(&point_shape, &point),
                PAWL__HERE("at", JSON, struct pawl_span, span("[]")));
    assert_string_equal(out.at, "{\"queue\":\"mail\",\"paused\":false,\"x\":3,\"at\":[]}");
    pawl__buf_clear(&out);
    PAWL__PRINT(
        &writer,
        PAWL__HERE_OBJECT("a", PAWL__HERE_INT("b", 1), PAWL__HERE_TEXTS("c", colour_texts + 1, 2)),
        PAWL__HERE_OBJECT("d", PAWL__SOME_INT("e", 0)),
        PAWL__HERE_MANY("f", &point_shape, &point, 1));
    assert_string_equal(out.at,
                        "{\"a\":{\"b\":1,\"c\":[\"red\",\"green\"]},\"d\":{},\"f\":[{\"x\":3}]}");
    pawl__buf_clear(&out);
    pawl__shape_print_list(&writer, &point_shape, (struct point[]){ { 1, -1 }, { 2, 0.5 } }, 2);
    assert_string_equal(out.at, "[{\"x\":1},{\"x\":2,\"weight\":0.5}]");
    pawl__buf_release(&out);
}

static void what_is_absent_can_be_null(void **state)
{
#define NULLABLE(text, kind, member, ...)                                                          \
    PAWL__MEMBER(text, kind, struct thing, member, .flags = PAWL__NULLABLE __VA_ARGS__)
    static const struct pawl__member members[] = {
        NULLABLE("end", INSTANT, end_ms),
        NULLABLE("share", REAL, share, | PAWL__NEGATIVE),
        NULLABLE("any", JSON, any),
        PAWL__MEMBER("period", PERIOD, struct thing, period_ms),
        PAWL__WHOLE("point", ONE, .shape = &point_shape, .offset = offsetof(struct thing, point),
                    PAWL__IF(struct thing, on)),
    };
#undef NULLABLE
    static const struct pawl__shape shape = { .members = members, .count = COUNT(members) };
    struct pawl__buf out = { 0 };
    const struct pawl__shape_writer writer = { .out = &out };
    struct thing thing = { .share = -1, .point = { .x = 1, .weight = -1 } };
    bool any = true;
    (void)state;
    pawl__shape_print(&writer, &shape, &thing);
    thing = (struct thing){
        .any = span("{}"), .end_ms = 1, .period_ms = 1500, .on = true, .point = { 1, -1 }
    };
    pawl__shape_print_members(&writer, &shape, &thing, &any);
    assert_string_equal(out.at, "{\"end\":null,\"share\":null,\"any\":null}"
                                ",\"end\":\"1970-01-01T00:00:00.001Z\",\"share\":0,\"any\":{},"
                                "\"period\":\"PT1.5S\",\"point\":{\"x\":1}");
    pawl__buf_release(&out);
}

static void unknown_members_that_are_null_can_be_reported(void **state)
{
    struct pawl__arena arena = { .chunks = NULL };
    int count = 0;
    struct pawl__shape_reader reader = { .arena = &arena,
                                         .unknown = PAWL__UNKNOWN_REFUSE,
                                         .on_unknown = count_unknown,
                                         .ctx = &count,
                                         .null_is_absent = true };
    struct thing thing;
    (void)state;
    assert_int_equal(read_by(&reader, "{\"name\":\"a\",\"nam\":null}", &thing), PAWL_OK);
    assert_int_equal(count, 0);
    reader.null_is_unknown = true;
    assert_int_equal(read_by(&reader, "{\"name\":\"a\",\"nam\":null}", &thing), PAWL_OK);
    assert_int_equal(count, 1);
    pawl__arena_release(&arena);
}

static struct pawl__shape_index raced;

static void *find_all(void *shape)
{
    for (size_t i = 0; i < COUNT(thing_members); i++) {
        const struct pawl__member *member = &thing_members[i];
        const struct pawl__member *found = pawl__shape_find(shape, member->name, member->len);
        if (member->len && strcmp(found->name, member->name) != 0) return shape;
    }
    return NULL;
}

static void threads_may_make_an_index_at_once(void **state)
{
    struct pawl__shape shape = thing_shape;
    pthread_t threads[4];
    (void)state;
    shape.index = &raced;
    for (size_t i = 0; i < COUNT(threads); i++) {
        assert_int_equal(pthread_create(&threads[i], NULL, find_all, &shape), 0);
    }
    for (size_t i = 0; i < COUNT(threads); i++) {
        void *wrong;
        pthread_join(threads[i], &wrong);
        assert_null(wrong);
    }
    assert_null(pawl__shape_find(&shape, "sizes", 5));
    assert_ptr_equal(pawl__shape_find(&shape, "size", 4), &thing_members[3]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_printed_comes_back),
        cmocka_unit_test(what_is_absent_is_left_out_and_left_alone),
        cmocka_unit_test(every_spelling_is_read),
        cmocka_unit_test(what_is_refused_is_named_with_the_rule),
        cmocka_unit_test(unknown_members_can_be_kept_as_they_stand),
        cmocka_unit_test(surfaces_choose_how_errors_name_members),
        cmocka_unit_test(lists_take_no_more_memory_than_they_may),
        cmocka_unit_test(an_object_can_be_written_without_a_table),
        cmocka_unit_test(what_is_absent_can_be_null),
        cmocka_unit_test(unknown_members_that_are_null_can_be_reported),
        cmocka_unit_test(threads_may_make_an_index_at_once),
    };
    return cmocka_run_group_tests_name("shape", tests, NULL, NULL);
}
