/* A spec from JSON, with the names of struct pawl_job_spec's fields: for those who have no struct.
 * A member that is not known is refused, for it is a wish. Null is as if it were not there. */
#include "api/api.h"
#include "base/diag.h"
#include "base/json.h"
#include "fields/fields.h"

#include <stddef.h>
#include <string.h>

enum kind { TEXT, TEXTS, INT32, INT64, BOOL, JSON, ID, RETRY, UNIQUE };

/* The members of a spec. `type` and `args` come beside it. */
#define OF_ID_AT(member) MEMBER(member, ID)
#define OF_TYPE(member)
#define OF_QUEUE(member) MEMBER(member, TEXT)
#define OF_ARGS(member)
#define OF_META(member) MEMBER(member, JSON)
#define OF_TAGS(member) MEMBER(member, TEXTS)
#define OF_I32(member) MEMBER(member, INT32)
#define OF_MS(member) MEMBER(member, INT64)
#define OF_LEASE(member) MEMBER(member, INT64)
#define OF_AT(member) MEMBER(member, INT64)
#define OF_RETRY(member) MEMBER(member, RETRY)
#define OF_KEY(member) MEMBER(member, TEXT)
#define OF_NOTE(member) MEMBER(member, TEXT)
#define OF_UNIQUE(member) MEMBER(member, UNIQUE)
#define OF_BOOL(member) MEMBER(member, BOOL)

struct member {
    const char *name;
    enum kind kind;
    size_t offset;
};

#define MEMBER(field, member_kind)                                                                 \
    { .name = #field, .kind = member_kind, .offset = offsetof(struct pawl_job_spec, field) },
#define X(field, field_kind, ...) OF_##field_kind(field)
static const struct member members[] = { PAWL__SPEC_FIELDS(X) };
#undef X

struct reader {
    struct pawl__json json;
    struct pawl__arena *arena;
    struct pawl_job_spec *spec;
    struct pawl_diag *diag;
};

static enum pawl_err must_be(struct reader *r, const struct member *member, const char *what)
{
    return pawl__fail_field(r->diag, PAWL_ERR_ARG, member->name, "%s must be %s", member->name,
                            what);
}

static enum pawl_err read_text(struct reader *r, const struct member *member, uint32_t token,
                               const char **out)
{
    size_t len;
    if (r->json.tokens[token].type != PAWL__JSON_STRING) return must_be(r, member, "a string");
    *out = pawl__json_string(&r->json, token, r->arena, &len);
    if (!*out) return pawl__fail_nomem(r->diag);
    return strlen(*out) == len ? PAWL_OK : must_be(r, member, "without NUL");
}

static enum pawl_err read_tags(struct reader *r, const struct member *member, uint32_t token)
{
    const struct pawl__json_token *tokens = r->json.tokens;
    if (tokens[token].type != PAWL__JSON_ARRAY) return must_be(r, member, "an array of strings");
    size_t count = tokens[token].count;
    const char **list = pawl__arena_calloc(r->arena, count + 1, sizeof *list);
    if (!list) return pawl__fail_nomem(r->diag);
    uint32_t at = pawl__json_first(token);
    for (size_t i = 0; i < count; i++, at = tokens[at].next) {
        enum pawl_err err = read_text(r, member, at, &list[i]);
        if (err) return err;
    }
    r->spec->tags = list;
    r->spec->tag_count = count;
    return PAWL_OK;
}

static enum pawl_err read_int(struct reader *r, const struct member *member, uint32_t token,
                              void *at)
{
    int64_t value;
    bool fits = pawl__json_int(&r->json, token, &value);
    if (fits && member->kind == INT32) fits = value >= INT32_MIN && value <= INT32_MAX;
    if (!fits) return must_be(r, member, "a whole number that fits");
    if (member->kind == INT32) {
        *(int32_t *)at = (int32_t)value;
    } else {
        *(int64_t *)at = value;
    }
    return PAWL_OK;
}

static enum pawl_err read_bool(struct reader *r, const struct member *member, uint32_t token,
                               bool *at)
{
    enum pawl__json_type type = r->json.tokens[token].type;
    int64_t number; // SQLite has no booleans: its JSON functions write 0 and 1
    bool given = pawl__json_int(&r->json, token, &number) && (number == 0 || number == 1);
    if (!given && type != PAWL__JSON_TRUE && type != PAWL__JSON_FALSE) {
        return must_be(r, member, "true or false");
    }
    *at = given ? number == 1 : type == PAWL__JSON_TRUE;
    return PAWL_OK;
}

static enum pawl_err read_id(struct reader *r, const struct member *member, uint32_t token)
{
    const char *text;
    enum pawl_err err = read_text(r, member, token, &text);
    if (err) return err;
    struct pawl_job_id *id = pawl__arena_alloc(r->arena, sizeof *id);
    if (!id) return pawl__fail_nomem(r->diag);
    if (pawl_job_id_parse(text, id)) return must_be(r, member, "a UUID");
    r->spec->id = id;
    return PAWL_OK;
}

static enum pawl_err read_member(struct reader *r, const struct member *member, uint32_t token)
{
    void *at = (char *)r->spec + member->offset;
    struct pawl_span span = pawl__json_span(&r->json, token);
    switch (member->kind) {
    case TEXT:
        return read_text(r, member, token, at);
    case TEXTS:
        return read_tags(r, member, token);
    case INT32:
    case INT64:
        return read_int(r, member, token, at);
    case BOOL:
        return read_bool(r, member, token, at);
    case JSON:
        *(struct pawl_span *)at = span;
        return PAWL_OK;
    case ID:
        return read_id(r, member, token);
    case RETRY:
        return pawl__retry_parse(span, r->arena, at, r->diag);
    case UNIQUE:
        return pawl__unique_parse(span, r->arena, at, r->diag);
    }
    return PAWL_OK;
}

static const struct member *find_member(const char *name)
{
    for (size_t i = 0; i < sizeof members / sizeof *members; i++) {
        if (strcmp(members[i].name, name) == 0) return &members[i];
    }
    return NULL;
}

enum pawl_err pawl__spec_parse(struct pawl_span text, struct pawl__arena *arena,
                               struct pawl_job_spec *out, struct pawl_diag *diag)
{
    struct reader r = { .arena = arena, .spec = out, .diag = diag };
    enum pawl_err err = pawl__json_parse(text, PAWL_JSON_DEPTH_MAX + 1, arena, &r.json, diag);
    if (err) return err;
    const struct pawl__json_token *tokens = r.json.tokens;
    if (tokens[0].type != PAWL__JSON_OBJECT) {
        return pawl__fail(diag, PAWL_ERR_ARG, "the options must be a JSON object");
    }
    uint32_t at = pawl__json_first(0);
    for (uint32_t i = 0; !err && i < tokens[0].count; i++, at = tokens[tokens[at].next].next) {
        size_t len;
        const char *name = pawl__json_string(&r.json, at, arena, &len);
        if (!name) return pawl__fail_nomem(diag);
        const struct member *member = find_member(name);
        if (!member) {
            return pawl__fail_field(diag, PAWL_ERR_ARG, name, "there is no option \"%.64s\"", name);
        }
        uint32_t value = tokens[at].next;
        if (tokens[value].type != PAWL__JSON_NULL) err = read_member(&r, member, value);
    }
    return err;
}
