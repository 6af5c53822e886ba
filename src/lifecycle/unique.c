/* The unique policy, which decides whether two jobs are equal, and its fingerprints.
 *
 * Pure; any thread. */
#include "lifecycle/lifecycle.h"

#include "base/check.h"
#include "base/diag.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

enum { NAMES_MAX = 32 }; /* args_keys and meta_keys */

/* ---- the policy ---- */

#define DIMENSIONS(X)                                                                              \
    X(TYPE, "type")                                                                                \
    X(QUEUE, "queue")                                                                              \
    X(ARGS, "args")                                                                                \
    X(META, "meta")

#define X(name, text) | PAWL_UNIQUE_##name
static const uint32_t dimensions_known = 0 DIMENSIONS(X);
#undef X
#define X(name, text) { PAWL_UNIQUE_##name, text },
static const struct {
    uint32_t bit;
    const char *text;
} dimensions[] = { DIMENSIONS(X) };
#undef X

/* A policy without dimensions must set nothing else: setting a period, for example, implies that a
 * unique job is wanted. */
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

/* Prints a member with a list of strings, preceded by the opening brace or a comma; an empty list
 * is left out. */
static void print_member(struct pawl__buf *out, const char *name, const char *const *list,
                         size_t count)
{
    if (!count) return;
    pawl__buf_add_text(out, out->len ? ",\"" : "{\"");
    pawl__buf_add_text(out, name);
    pawl__buf_add_text(out, "\":");
    for (size_t i = 0; i < count; i++) {
        pawl__buf_add_text(out, i ? "," : "[");
        pawl__buf_add_json(out, list[i], strlen(list[i]));
    }
    pawl__buf_add_text(out, "]");
}

static void print_dimensions(struct pawl__buf *out, uint32_t keys)
{
    const char *names[sizeof dimensions / sizeof dimensions[0]];
    size_t count = 0;
    for (size_t i = 0; i < sizeof dimensions / sizeof dimensions[0]; i++) {
        if (keys & dimensions[i].bit) names[count++] = dimensions[i].text;
    }
    print_member(out, "keys", names, count);
}

static void print_states(struct pawl__buf *out, uint32_t states)
{
    const char *names[PAWL_STATE_END];
    size_t count = 0;
    for (int state = PAWL_STATE_NONE + 1; state < PAWL_STATE_END; state++) {
        if (!(states & PAWL_STATE_BIT(state))) continue;
        names[count++] = pawl_state_name((enum pawl_state)state, PAWL_VOCABULARY_PAWL);
    }
    print_member(out, "states", names, count);
}

void pawl__unique_print(const struct pawl_unique *unique, struct pawl__buf *out)
{
#define X(number, name, text) [number] = text,
    static const char *const conflicts[] = { PAWL_CONFLICTS(X) };
#undef X
    assert(out->len == 0);
    if (!unique->keys) return;
    print_dimensions(out, unique->keys | PAWL_UNIQUE_TYPE); // the type counts even if it is not
                                                            // named
    print_member(out, "args_keys", unique->args_keys, unique->args_key_count);
    print_member(out, "meta_keys", unique->meta_keys, unique->meta_key_count);
    if (unique->period_ms) {
        pawl__buf_add_text(out, ",\"period_ms\":");
        pawl__buf_add_int(out, unique->period_ms);
    }
    print_states(out, unique->states);
    pawl__buf_add_text(out, ",\"on_conflict\":\"");
    pawl__buf_add_text(out, conflicts[pawl__unique_conflict(unique)]);
    pawl__buf_add_text(out, "\"}");
}

/* ---- and back ---- */

struct parser {
    struct pawl__json json;
    struct pawl__arena *arena;
    struct pawl_diag *diag;
};

static enum pawl_err refuse(struct parser *p, const char *field, const char *rule)
{
    return pawl__fail_field(p->diag, PAWL_ERR_ARG, field, "%s %s", field, rule);
}

static enum pawl_err parse_names(struct parser *p, const char *field, uint32_t token,
                                 const char *const **out, size_t *count)
{
    const struct pawl__json_token *tokens = p->json.tokens;
    if (tokens[token].type != PAWL__JSON_ARRAY) return refuse(p, field, "must be an array");
    const char **list = pawl__arena_calloc(p->arena, tokens[token].count + 1, sizeof *list);
    if (!list) return pawl__fail_nomem(p->diag);
    uint32_t at = pawl__json_first(token);
    for (uint32_t i = 0; i < tokens[token].count; i++, at = tokens[at].next) {
        size_t len;
        if (tokens[at].type != PAWL__JSON_STRING) {
            return refuse(p, field, "must contain only strings");
        }
        list[i] = pawl__json_string(&p->json, at, p->arena, &len);
        if (!list[i]) return pawl__fail_nomem(p->diag);
        if (strlen(list[i]) != len) return refuse(p, field, "contains a NUL");
    }
    *out = list;
    *count = tokens[token].count;
    return PAWL_OK;
}

static uint32_t dimension_of(const char *name)
{
    for (size_t i = 0; i < sizeof dimensions / sizeof dimensions[0]; i++) {
        if (strcmp(dimensions[i].text, name) == 0) return dimensions[i].bit;
    }
    return 0;
}

static uint32_t state_of(const char *name)
{
    return pawl_state_mask(name, PAWL_VOCABULARY_PAWL);
}

/* Parses names as bits. */
static enum pawl_err parse_bits(struct parser *p, const char *field, uint32_t token,
                                uint32_t (*bit_of)(const char *), uint32_t *out)
{
    const char *const *names;
    size_t count;
    enum pawl_err err = parse_names(p, field, token, &names, &count);
    if (err) return err;
    *out = 0;
    for (size_t i = 0; i < count; i++) {
        uint32_t bit = bit_of(names[i]);
        if (!bit) {
            return pawl__fail_field(p->diag, PAWL_ERR_ARG, field, "%s \"%s\" is not known", field,
                                    pawl__quote(names[i]).text);
        }
        *out |= bit;
    }
    return PAWL_OK;
}

static enum pawl_err parse_conflict(struct parser *p, const char *field, uint32_t token,
                                    enum pawl_conflict *out)
{
    size_t len;
    if (p->json.tokens[token].type != PAWL__JSON_STRING) return refuse(p, field, "is no string");
    const char *word = pawl__json_string(&p->json, token, p->arena, &len);
    if (!word) return pawl__fail_nomem(p->diag);
#define X(number, name, text)                                                                      \
    if (strcmp(word, text) == 0) *out = PAWL_CONFLICT_##name;
    PAWL_CONFLICTS(X)
#undef X
    return *out ? PAWL_OK : refuse(p, field, "is not a word that is known");
}

static enum pawl_err parse_member(struct parser *p, const char *name, uint32_t token,
                                  struct pawl_unique *out)
{
    if (strcmp(name, "keys") == 0) {
        return parse_bits(p, "unique.keys", token, dimension_of, &out->keys);
    }
    if (strcmp(name, "states") == 0) {
        return parse_bits(p, "unique.states", token, state_of, &out->states);
    }
    if (strcmp(name, "args_keys") == 0) {
        return parse_names(p, "unique.args_keys", token, &out->args_keys, &out->args_key_count);
    }
    if (strcmp(name, "meta_keys") == 0) {
        return parse_names(p, "unique.meta_keys", token, &out->meta_keys, &out->meta_key_count);
    }
    if (strcmp(name, "period_ms") == 0) {
        bool fits = pawl__json_int(&p->json, token, &out->period_ms);
        return fits ? PAWL_OK : refuse(p, "unique.period_ms", "must be a whole number that fits");
    }
    if (strcmp(name, "on_conflict") == 0) {
        return parse_conflict(p, "unique.on_conflict", token, &out->on_conflict);
    }
    return pawl__fail_field(p->diag, PAWL_ERR_ARG, "unique", "\"unique\" has no member \"%s\"",
                            pawl__quote(name).text);
}

enum pawl_err pawl__unique_parse(struct pawl_span json, struct pawl__arena *arena,
                                 struct pawl_unique *out, struct pawl_diag *diag)
{
    enum { DEPTH_MAX = 4 };
    struct parser p = { .arena = arena, .diag = diag };
    *out = (struct pawl_unique){ .keys = 0 };
    enum pawl_err err = pawl__json_parse(json, DEPTH_MAX, arena, &p.json, diag);
    if (err) return err;
    const struct pawl__json_token *tokens = p.json.tokens;
    if (tokens[0].type != PAWL__JSON_OBJECT) return refuse(&p, "unique", "must be an object");
    uint32_t at = pawl__json_first(0);
    for (uint32_t i = 0; !err && i < tokens[0].count; i++, at = tokens[tokens[at].next].next) {
        size_t len;
        const char *name = pawl__json_string(&p.json, at, arena, &len);
        if (!name) return pawl__fail_nomem(diag);
        err = parse_member(&p, name, tokens[at].next, out);
    }
    return err;
}

/* ---- fingerprints ---- */

/* The output of a fingerprint and its sources. */
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

/* The order of names and repeated names make no difference to a policy. */
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

/* Writes the list of values that `name` has in the objects among the arguments; false: there is
 * none. */
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

/* A member that the job lacks is left out, since that differs from null. */
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
