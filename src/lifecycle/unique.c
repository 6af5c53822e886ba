/* What makes two jobs the same: the unique policy, and fingerprints. Pure; any thread. */
#include "lifecycle/lifecycle.h"

#include "base/check.h"
#include "base/diag.h"
#include "base/shape.h"
#include "fields/fields.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

enum { NAMES_MAX = 32 }; /* args_keys and meta_keys */

/* ---- the policy ---- */

static const uint32_t dimensions_known = PAWL_UNIQUE_TYPE | PAWL_UNIQUE_QUEUE | PAWL_UNIQUE_ARGS |
                                         PAWL_UNIQUE_META;

/* A policy without dimensions must say nothing else: whoever sets a period means to be unique. */
static bool is_none(const struct pawl_unique *unique)
{
    return !unique->keys && !unique->args_key_count && !unique->meta_key_count &&
           !unique->period_ms && !unique->states && !unique->on_conflict;
}

static enum pawl_err check_keys(const struct pawl_unique *unique, struct pawl_diag *diag)
{
    if (!unique->keys) {
        return pawl__fail_field(diag, PAWL_ERR_ARG, "unique.keys",
                                "unique.keys must say what makes two jobs the same");
    }
    if (unique->keys & ~dimensions_known) {
        return pawl__fail_field(diag, PAWL_ERR_ARG, "unique.keys",
                                "unique.keys 0x%x has unknown bits", unique->keys);
    }
    return PAWL_OK;
}

static enum pawl_err check_names(const struct pawl_unique *unique, struct pawl_diag *diag)
{
    static const struct pawl__list_rule args = { { "unique.args_keys", PAWL_KEY_BYTES_MAX },
                                                 NAMES_MAX };
    static const struct pawl__list_rule meta = { { "unique.meta_keys", PAWL_KEY_BYTES_MAX },
                                                 NAMES_MAX };
    if (unique->args_key_count && !(unique->keys & PAWL_UNIQUE_ARGS)) {
        return pawl__fail_field(diag, PAWL_ERR_ARG, "unique.args_keys",
                                "unique.args_keys needs \"args\" among unique.keys");
    }
    if (unique->meta_key_count && !(unique->keys & PAWL_UNIQUE_META)) {
        return pawl__fail_field(diag, PAWL_ERR_ARG, "unique.meta_keys",
                                "unique.meta_keys needs \"meta\" among unique.keys");
    }
    if (!unique->meta_key_count && (unique->keys & PAWL_UNIQUE_META)) {
        return pawl__fail_field(diag, PAWL_ERR_ARG, "unique.meta_keys",
                                "unique.meta_keys is required with \"meta\" among unique.keys");
    }
    enum pawl_err err = pawl__check_list(&args, unique->args_keys, unique->args_key_count, diag);
    if (err) return err;
    return pawl__check_list(&meta, unique->meta_keys, unique->meta_key_count, diag);
}

enum pawl_err pawl__unique_check(const struct pawl_unique *unique, struct pawl_diag *diag)
{
    if (is_none(unique)) return PAWL_OK;
    enum pawl_err err = check_keys(unique, diag);
    if (err) return err;
    err = check_names(unique, diag);
    if (err) return err;
    err = pawl__check_time("unique.period_ms", PAWL__TIME_DURATION, unique->period_ms, diag);
    if (err) return err;
    if (unique->states & ~pawl__states_known) {
        return pawl__fail_field(diag, PAWL_ERR_ARG, "unique.states",
                                "unique.states 0x%x has unknown states", unique->states);
    }
    if ((unsigned)unique->on_conflict >= PAWL_CONFLICT_END) {
        return pawl__fail_field(diag, PAWL_ERR_ARG, "unique.on_conflict",
                                "unique.on_conflict %d is not known", (int)unique->on_conflict);
    }
    return PAWL_OK;
}

enum pawl_conflict pawl__unique_conflict(const struct pawl_unique *unique)
{
    return unique->on_conflict ? unique->on_conflict : PAWL_CONFLICT_REJECT;
}

uint32_t pawl__unique_states(const struct pawl_unique *unique)
{
    return unique->states ? unique->states : pawl__states_live;
}

/* ---- the policy as JSON ---- */

#define S struct pawl_unique
static const struct pawl__member unique_members[] = {
    PAWL__MEMBER("keys", SET, S, keys, .words = &pawl__unique_words),
    PAWL__MEMBER("args_keys", TEXTS, S, args_keys, PAWL__COUNTED(S, args_key_count)),
    PAWL__MEMBER("meta_keys", TEXTS, S, meta_keys, PAWL__COUNTED(S, meta_key_count)),
    PAWL__MEMBER("period_ms", INT64, S, period_ms),
    PAWL__MEMBER("states", SET, S, states, .words = &pawl__state_words),
    PAWL__MEMBER("on_conflict", WORD, S, on_conflict, .words = &pawl__conflict_words),
};
static const struct pawl__shape unique_shape = PAWL__SHAPE(S, unique_members);
#undef S

void pawl__unique_print(const struct pawl_unique *unique, struct pawl__buf *out)
{
    struct pawl_unique whole = *unique;
    assert(out->len == 0);
    if (!unique->keys) return;
    whole.keys |= PAWL_UNIQUE_TYPE; // which counts, named or not
    whole.on_conflict = pawl__unique_conflict(unique);
    pawl__shape_print(&(struct pawl__shape_writer){ .out = out }, &unique_shape, &whole);
}

enum pawl_err pawl__unique_parse(struct pawl_span json, struct pawl__arena *arena,
                                 struct pawl_unique *out, struct pawl_diag *diag)
{
    enum { DEPTH_MAX = 4 };
    struct pawl__shape_reader reader = { .arena = arena,
                                         .diag = diag,
                                         .unknown = PAWL__UNKNOWN_REFUSE,
                                         .plain_names = true,
                                         .paths = true,
                                         .prefix = "unique" };
    *out = (struct pawl_unique){ .keys = 0 };
    return pawl__shape_read_text(&reader, json, DEPTH_MAX, &unique_shape, out);
}

/* ---- fingerprints ---- */

/* Where a fingerprint is written, and from what. */
struct writer {
    const struct pawl_job_spec *spec;
    const struct pawl__payloads *payloads;
    struct pawl__arena *scratch;
    struct pawl__buf *out;
};

static int by_text(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

/* A policy means the same whatever the order of its names, and however often one is given. */
static size_t sort_names(const char *const *list, size_t count, const char *sorted[])
{
    assert(count <= NAMES_MAX);
    for (size_t i = 0; i < count; i++) {
        sorted[i] = list[i];
    }
    if (count) qsort(sorted, count, sizeof sorted[0], by_text);
    size_t kept = 0;
    for (size_t i = 0; i < count; i++) {
        if (kept && strcmp(sorted[i], sorted[kept - 1]) == 0) continue;
        sorted[kept++] = sorted[i];
    }
    return kept;
}

static void write_name(struct writer *writer, const char *name, bool first)
{
    if (!first) pawl__buf_add(writer->out, ",", 1);
    pawl__buf_add_json(writer->out, name, strlen(name));
    pawl__buf_add(writer->out, ":", 1);
}

static void write_value(struct writer *writer, const struct pawl__json *json, uint32_t token)
{
    pawl__json_canonical(json, token, writer->scratch, writer->out);
}

/* The list of values that `name` has in the objects among the arguments; false: it has none. */
static bool write_argument(struct writer *writer, const char *name)
{
    const struct pawl__json *args = &writer->payloads->args;
    bool found = false;
    uint32_t at = pawl__json_first(0);
    for (uint32_t i = 0; i < args->tokens[0].count; i++, at = args->tokens[at].next) {
        if (args->tokens[at].type != PAWL__JSON_OBJECT) continue;
        uint32_t value = pawl__json_member(args, at, name);
        if (!value) continue;
        pawl__buf_add(writer->out, found ? "," : "[", 1);
        write_value(writer, args, value);
        found = true;
    }
    if (found) pawl__buf_add(writer->out, "]", 1);
    return found;
}

static enum pawl_err write_chosen_args(struct writer *writer, struct pawl_diag *diag)
{
    const struct pawl_unique *unique = &writer->spec->unique;
    const char *names[NAMES_MAX];
    size_t count = sort_names(unique->args_keys, unique->args_key_count, names);
    pawl__buf_add(writer->out, "{", 1);
    for (size_t i = 0; i < count; i++) {
        write_name(writer, names[i], i == 0);
        if (write_argument(writer, names[i])) continue;
        return pawl__fail_field(diag, PAWL_ERR_ARG, "unique.args_keys",
                                "unique.args_keys names \"%s\", which no object in args has",
                                pawl__quote(names[i]).text);
    }
    pawl__buf_add(writer->out, "}", 1);
    return PAWL_OK;
}

static enum pawl_err write_args(struct writer *writer, struct pawl_diag *diag)
{
    pawl__buf_add_text(writer->out, "\"args\":");
    enum pawl_err err = PAWL_OK;
    if (writer->spec->unique.args_key_count) {
        err = write_chosen_args(writer, diag);
    } else {
        write_value(writer, &writer->payloads->args, 0);
    }
    pawl__buf_add(writer->out, ",", 1);
    return err;
}

/* A member that the job lacks is left out: lacking it is not the same as null. */
static void write_meta(struct writer *writer)
{
    const struct pawl_unique *unique = &writer->spec->unique;
    const struct pawl__json *meta = &writer->payloads->meta;
    const char *names[NAMES_MAX];
    size_t count = sort_names(unique->meta_keys, unique->meta_key_count, names);
    bool first = true;
    pawl__buf_add_text(writer->out, "\"meta\":{");
    for (size_t i = 0; i < count; i++) {
        uint32_t value = meta->count ? pawl__json_member(meta, 0, names[i]) : 0;
        if (!value) continue;
        write_name(writer, names[i], first);
        write_value(writer, meta, value);
        first = false;
    }
    pawl__buf_add_text(writer->out, "},");
}

enum pawl_err pawl__fingerprint(const struct pawl_job_spec *spec,
                                const struct pawl__payloads *payloads, struct pawl__arena *scratch,
                                struct pawl__buf *out, struct pawl_diag *diag)
{
    struct writer writer = { spec, payloads, scratch, out };
    pawl__buf_clear(out);
    pawl__buf_add(out, "{", 1);
    if (spec->unique.keys & PAWL_UNIQUE_ARGS) {
        enum pawl_err err = write_args(&writer, diag);
        if (err) return err;
    }
    if (spec->unique.keys & PAWL_UNIQUE_META) write_meta(&writer);
    if (spec->unique.keys & PAWL_UNIQUE_QUEUE) {
        write_name(&writer, "queue", true);
        pawl__buf_add_json(out, spec->queue, strlen(spec->queue));
        pawl__buf_add(out, ",", 1);
    }
    write_name(&writer, "type", true);
    pawl__buf_add_json(out, spec->type, strlen(spec->type));
    pawl__buf_add(out, "}", 1);
    return out->failed ? pawl__fail_nomem(diag) : PAWL_OK;
}
