/* Flows from JSON: the object of a flow, and the form that lists nodes. Each node has its own
 * members beside those of its job; the job's are passed on as an object of their own. */
#include "wire/flow.h"

#include "base/diag.h"
#include "wire/flow_inside.h"

#include <stdio.h>
#include <string.h>

/* ---- words ---- */

#define X(number, name, text, ...) [number] = text,
#define WORDS(list, texts)                                                                         \
    static const char *const list##_texts[] = { texts(X) };                                        \
    const struct pawl__words pawl__flow_##list##_words = {                                         \
        .at = list##_texts, .count = sizeof list##_texts / sizeof *list##_texts                    \
    };
WORDS(kind, PAWL_FLOW_KINDS)
WORDS(on, PAWL_FLOW_ONS)
WORDS(join, PAWL_FLOW_JOINS)
WORDS(parent, PAWL_FLOW_PARENTS)
WORDS(select, PAWL_FLOW_SELECTS)
WORDS(state, PAWL_FLOW_STATES)
WORDS(control, PAWL_FLOW_CONTROLS)
WORDS(signal, PAWL_FLOW_SIGNALS)
WORDS(unsignalled, PAWL_FLOW_UNSIGNALLEDS)
#undef WORDS
#undef X

/* ---- what both forms share ---- */

/* What does not fit is cut. */
static void append(struct pawl__flow_path *path, const char *text)
{
    size_t len = strlen(path->text), more = strlen(text), room = sizeof path->text - 1 - len;
    if (more > room) more = room;
    memcpy(path->text + len, text, more);
    path->text[len + more] = '\0';
}

struct pawl__flow_path pawl__flow_member(const char *outer, const char *member)
{
    struct pawl__flow_path path = { 0 };
    append(&path, outer);
    if (*outer) append(&path, ".");
    append(&path, member);
    return path;
}

struct pawl__flow_path pawl__flow_path(const char *outer, const char *member, size_t index)
{
    struct pawl__flow_path path = pawl__flow_member(outer, member);
    char text[24];
    snprintf(text, sizeof text, "[%zu]", index);
    append(&path, text);
    return path;
}

struct pawl__shape_reader pawl__flow_reader(const struct pawl__flow_builder *builder,
                                            const struct pawl__flow_path *path)
{
    return (struct pawl__shape_reader){
        .json = builder->json,
        .arena = builder->rules->arena,
        .diag = builder->diag,
        .root = "a flow must be a JSON object",
        .unknown = PAWL__UNKNOWN_REFUSE,
        .null_is_absent = true,
        .paths = true,
        .prefix = path->text[0] ? path->text : NULL,
        .now_ms = builder->rules->now_ms,
        .ctx = (void *)builder,
    };
}

enum pawl_err pawl__flow_refuse(const struct pawl__flow_builder *builder,
                                const struct pawl__flow_path *path, const char *member,
                                const char *rule)
{
    struct pawl__shape_reader reader = pawl__flow_reader(builder, path);
    return pawl__shape_refuse(&reader, &(struct pawl__member){ .name = member }, "%s", rule);
}

enum pawl_err pawl__flow_builder_add(struct pawl__flow_builder *builder,
                                     const struct pawl_flow_node *node)
{
    if (builder->count == PAWL_FLOW_NODES_MAX) {
        return pawl__fail(builder->diag, PAWL_ERR_LIMIT, "a flow has at most %d nodes",
                          PAWL_FLOW_NODES_MAX);
    }
    if (builder->count == builder->cap) {
        size_t cap = builder->cap ? builder->cap * 2 : 16;
        struct pawl_flow_node *nodes =
            pawl__arena_calloc(builder->rules->arena, cap, sizeof *nodes);
        if (!nodes) return pawl__fail_nomem(builder->diag);
        if (builder->count) memcpy(nodes, builder->nodes, builder->count * sizeof *nodes);
        builder->nodes = nodes;
        builder->cap = cap;
    }
    builder->nodes[builder->count++] = *node;
    return PAWL_OK;
}

enum pawl_err pawl__flow_job(const struct pawl__flow_builder *builder,
                             const struct pawl__flow_path *path, struct pawl_span text,
                             struct pawl_job_spec *out)
{
    struct pawl_diag why = { 0 };
    if (!text.len) text = (struct pawl_span){ "{}", 2 };
    enum pawl_err err = builder->rules->job(builder->rules->ctx, path->text, text, out, &why);
    if (!err || err == PAWL_ERR_NOMEM) return err ? pawl__fail_nomem(builder->diag) : PAWL_OK;
    struct pawl__flow_path field = *path;
    if (why.field[0]) field = pawl__flow_member(path->text, why.field);
    return pawl__fail_field(builder->diag, err, field.text, "%s: %s", path->text, why.text);
}

/* ---- the object of a flow ---- */

static enum pawl_err read_list(struct pawl__shape_reader *reader, const struct pawl__member *member,
                               uint32_t token, void *base)
{
    if (reader->json.tokens[token].type != PAWL__JSON_ARRAY) {
        return pawl__shape_refuse(reader, member, "must be an array");
    }
    if (reader->json.tokens[token].count == 0) {
        return pawl__shape_refuse(reader, member, "must not be empty");
    }
    memcpy((char *)base + member->offset, &token, sizeof token);
    return PAWL_OK;
}

static enum pawl_err read_object(struct pawl__shape_reader *reader,
                                 const struct pawl__member *member, uint32_t token, void *base)
{
    if (reader->json.tokens[token].type != PAWL__JSON_OBJECT) {
        return pawl__shape_refuse(reader, member, "must be an object");
    }
    memcpy((char *)base + member->offset, &token, sizeof token);
    return PAWL_OK;
}

#define S struct pawl__flow_object
static const struct pawl__member object_members[] = {
    PAWL__MEMBER("id", ID_AT, S, spec.id),
    PAWL__MEMBER("name", TEXT, S, spec.name),
    PAWL__MEMBER("type", TEXT, S, type),
    PAWL__MEMBER("meta", OBJECT, S, spec.meta),
    PAWL__MEMBER("nodes", OWN, S, nodes, .read = read_list),
    PAWL__MEMBER("steps", OWN, S, steps, .read = read_list),
    PAWL__MEMBER("jobs", OWN, S, jobs, .read = read_list),
    PAWL__MEMBER("callbacks", OWN, S, callbacks, .read = read_object),
    PAWL__MEMBER("options", OWN, S, options, .read = read_object),
    PAWL__MEMBER("deadline", INSTANT, S, spec.deadline_at_ms),
    PAWL__MEMBER("unsealed", BOOL, S, spec.unsealed),
    PAWL__MEMBER("priority", INT32, S, spec.priority),
    PAWL__MEMBER("sla_soft_at", INSTANT, S, spec.sla_soft_at_ms),
    PAWL__MEMBER("sla_hard_at", INSTANT, S, spec.sla_hard_at_ms),
    PAWL__MEMBER("idempotency_key", TEXT, S, spec.idempotency_key),
};
static const struct pawl__shape object_shape = PAWL__SHAPE(S, object_members);
/* A layout within another is a step too; what a step may have beside its job is read elsewhere. */
static const struct pawl__member nested_members[] = {
    PAWL__MEMBER("type", TEXT, S, type),
    PAWL__MEMBER("steps", OWN, S, steps, .read = read_list),
    PAWL__MEMBER("jobs", OWN, S, jobs, .read = read_list),
    PAWL__MEMBER("callbacks", OWN, S, callbacks, .read = read_object),
    PAWL__MEMBER("options", OWN, S, options, .read = read_object),
    PAWL__WHOLE("id", NOTHING),
    PAWL__WHOLE("name", NOTHING),
    PAWL__WHOLE("depends_on", NOTHING),
    PAWL__WHOLE("callback_type", NOTHING),
};
static const struct pawl__shape nested_shape = PAWL__SHAPE(S, nested_members);
#undef S

enum pawl_err pawl__flow_object(const struct pawl__flow_builder *builder,
                                const struct pawl__flow_path *path, uint32_t token,
                                struct pawl__flow_object *out)
{
    struct pawl__shape_reader reader = pawl__flow_reader(builder, path);
    const struct pawl__shape *shape = token == 0 ? &object_shape : &nested_shape;
    if (builder->rules->lenient) reader.unknown = PAWL__UNKNOWN_SKIP;
    pawl__shape_clear(shape, out);
    return pawl__shape_read(&reader, shape, token, out);
}

/* ---- edges ---- */

#define S struct pawl_flow_edge
static const struct pawl__member edge_members[] = {
    PAWL__MEMBER("parent", TEXT, S, parent, .flags = PAWL__REQUIRED),
    PAWL__MEMBER("on", WORD, S, on, .words = &pawl__flow_on_words),
    PAWL__MEMBER("when", TEXT, S, when),
    PAWL__MEMBER("arm", INT32, S, arm, .min = 1, .max = INT32_MAX),
    PAWL__MEMBER("otherwise", BOOL, S, otherwise),
    PAWL__MEMBER("label", TEXT, S, label),
};
static const struct pawl__shape edge_shape = PAWL__SHAPE(S, edge_members);
#undef S

/* One element of "after": the name of the parent, or an object. */
static enum pawl_err read_edge(struct pawl__shape_reader *reader, uint32_t token,
                               struct pawl_flow_edge *out)
{
    pawl__shape_clear(&edge_shape, out);
    if (reader->json.tokens[token].type == PAWL__JSON_STRING) {
        return pawl__shape_value(reader, &edge_members[0], token, out);
    }
    return pawl__shape_read(reader, &edge_shape, token, out);
}

/* ---- nodes ---- */

/* A node as it is read. `kind` decides which of the other members may be there; no member that is
 * named in a choice has the offset 0. */
struct draft {
    enum pawl_flow_kind kind;
    struct pawl_flow_node node;
};

static enum pawl_err read_after(struct pawl__shape_reader *reader,
                                const struct pawl__member *member, uint32_t token, void *base)
{
    struct draft *draft = base;
    const struct pawl__json_token *list = &reader->json.tokens[token];
    bool alone = list->type == PAWL__JSON_STRING;
    if (!alone && list->type != PAWL__JSON_ARRAY) {
        return pawl__shape_refuse(reader, member, "must be a name or an array");
    }
    size_t count = alone ? 1 : list->count;
    struct pawl_flow_edge *edges = pawl__arena_calloc(reader->arena, count + 1, sizeof *edges);
    if (!edges) return pawl__fail_nomem(reader->diag);
    uint32_t at = alone ? token : pawl__json_first(token);
    enum pawl_err err = PAWL_OK;
    for (size_t i = 0; i < count && !err; i++, at = reader->json.tokens[at].next) {
        struct pawl__flow_path path = pawl__flow_path(reader->prefix, "after", i);
        struct pawl__shape_reader inside = pawl__flow_reader(reader->ctx, &path);
        err = read_edge(&inside, at, &edges[i]);
    }
    draft->node.after = edges;
    draft->node.after_count = count;
    return err;
}

#define S struct draft
#define AS(text, kind, member, ...) PAWL__MEMBER(text, kind, S, node.member, __VA_ARGS__)
#define WORD(text, member, list) AS(text, WORD, member, .words = &pawl__flow_##list##_words)
/* clang-format off */
static const struct pawl__member draft_members[] = {
    PAWL__MEMBER("kind", WORD, S, kind, .words = &pawl__flow_kind_words),
    AS("name", TEXT, name, .flags = PAWL__REQUIRED), AS("group", TEXT, group),
    AS("after", OWN, after, .read = read_after), WORD("join", join, join),
    AS("n", INT32, n, .min = 1, .max = INT32_MAX),
    WORD("on_parent_failure", on_parent_failure, parent), WORD("select", select, select),
    AS("may_fail", BOOL, may_fail), AS("callback", BOOL, callback),
    AS("unsealed", BOOL, unsealed),
    AS("abort_failures", INT64, abort_failures, .min = 1, .max = INT64_MAX),
    AS("abort_share", REAL, abort_share),
    AS("signal_key", TEXT, signal_key), AS("timeout", DURATION, timeout_ms),
    AS("timeout_ms", INT64, timeout_ms, .min = 1, .max = INT64_MAX),
    WORD("on_timeout", on_timeout, unsignalled), WORD("on_reject", on_reject, unsignalled),
    AS("payload", JSON, payload),
};
#define IN(member) offsetof(S, node.member)
#define COMMON IN(name), IN(group), IN(after), IN(join), IN(n), IN(on_parent_failure), IN(select), \
    IN(may_fail), IN(callback)
static const uint16_t common[] = { COMMON, 0 };
static const uint16_t of_group[] = {
    COMMON, IN(unsealed), IN(abort_failures), IN(abort_share), 0
};
static const uint16_t of_signal[] = {
    COMMON, IN(signal_key), IN(timeout_ms), IN(on_timeout), IN(on_reject), IN(payload), 0
};
/* clang-format on */
static const uint16_t *const draft_choices[PAWL_FLOW_KIND_END] = {
    [PAWL_FLOW_KIND_DEFAULT] = common, [PAWL_FLOW_KIND_JOB] = common,
    [PAWL_FLOW_KIND_GROUP] = of_group, [PAWL_FLOW_KIND_BRANCH] = common,
    [PAWL_FLOW_KIND_JOIN] = common,    [PAWL_FLOW_KIND_SIGNAL] = of_signal,
};
static const struct pawl__shape draft_shape =
    PAWL__SHAPE(S, draft_members, .choices = draft_choices);
#undef S

/* All members that are not the node's are the job's. */
static enum pawl_err pass_on(struct pawl__shape_reader *reader, const struct pawl__shape *shape,
                             const char *name)
{
    return PAWL_OK;
}

/* Control nodes have no job; and not every member is for every kind. */
static enum pawl_err refuse_other(struct pawl__shape_reader *reader,
                                  const struct pawl__shape *shape, const char *name)
{
    const char *meant = pawl__shape_nearest(shape, name);
    const struct pawl__member member = { .name = name };
    if (!meant || strcmp(meant, name) == 0) {
        return pawl__shape_refuse(reader, &member, "is not for a node of this kind");
    }
    return pawl__shape_refuse(reader, &member,
                              "is not for a node of this kind; did you mean \"%s\"?", meant);
}

static bool is_job(const struct pawl__json *json, uint32_t token)
{
    if (json->tokens[token].type != PAWL__JSON_OBJECT) return false;
    uint32_t kind = pawl__json_member(json, token, "kind");
    if (!kind || json->tokens[kind].type == PAWL__JSON_NULL) return true;
    struct pawl_span text = pawl__json_span(json, kind);
    return text.len == strlen("\"job\"") && memcmp(text.at, "\"job\"", text.len) == 0;
}

static enum pawl_err read_node(struct pawl__flow_builder *builder, uint32_t token, size_t index)
{
    struct pawl__flow_path path = pawl__flow_path("", "nodes", index);
    struct pawl__shape_reader reader = pawl__flow_reader(builder, &path);
    struct draft draft;
    struct pawl_span job = { 0 };
    bool has_job = is_job(&builder->json, token);
    reader.unknown = has_job ? PAWL__UNKNOWN_KEEP : PAWL__UNKNOWN_REFUSE;
    reader.on_unknown = has_job ? pass_on : refuse_other;
    pawl__shape_clear(&draft_shape, &draft);
    enum pawl_err err = pawl__shape_read(&reader, &draft_shape, token, &draft);
    enum pawl_err kept = pawl__shape_kept(&reader, err ? NULL : &job);
    if (!err) err = kept;
    if (!err && has_job) err = pawl__flow_job(builder, &path, job, &draft.node.job);
    draft.node.kind = draft.kind;
    return err ? err : pawl__flow_builder_add(builder, &draft.node);
}

static enum pawl_err read_nodes(struct pawl__flow_builder *builder, uint32_t list)
{
    const struct pawl__json_token *tokens = builder->json.tokens;
    uint32_t token = pawl__json_first(list);
    enum pawl_err err = PAWL_OK;
    for (size_t i = 0; i < tokens[list].count && !err; i++, token = tokens[token].next) {
        err = read_node(builder, token, i);
    }
    return err;
}

/* ---- the whole ---- */

static enum pawl_err check_form(const struct pawl__flow_builder *builder,
                                const struct pawl__flow_object *object)
{
    const struct pawl__flow_path whole = { 0 };
    if (object->nodes && (object->steps || object->jobs || object->callbacks)) {
        return pawl__flow_refuse(builder, &whole, "nodes",
                                 "cannot stand beside steps, jobs or callbacks");
    }
    if (object->nodes && object->type) {
        return pawl__flow_refuse(builder, &whole, "type", "is for steps and jobs, not for nodes");
    }
    if (object->nodes && object->options) {
        return pawl__flow_refuse(builder, &whole, "options",
                                 "is for steps and jobs, not for nodes");
    }
    return PAWL_OK;
}

enum pawl_err pawl__flow_read_json(const struct pawl__json *json,
                                   const struct pawl__flow_rules *rules, struct pawl_flow_spec *out,
                                   struct pawl_diag *diag)
{
    struct pawl__flow_builder builder = { .rules = rules, .diag = diag, .json = *json };
    struct pawl__flow_object object = { 0 };
    enum pawl_err err = pawl__flow_object(&builder, &(struct pawl__flow_path){ 0 }, 0, &object);
    if (!err) err = check_form(&builder, &object);
    bool bare = !err && !object.nodes && !object.steps && !object.jobs && !object.type;
    if (!err && object.nodes) {
        err = read_nodes(&builder, object.nodes);
    } else if (!err && !(bare && object.spec.unsealed)) { // nodes may come later
        err = pawl__flow_layout(&builder, &object);
    }
    if (err) return err;
    *out = object.spec;
    out->nodes = builder.nodes;
    out->node_count = builder.count;
    return PAWL_OK;
}

enum pawl_err pawl__flow_read(struct pawl_span text, const struct pawl__flow_rules *rules,
                              struct pawl_flow_spec *out, struct pawl_diag *diag)
{
    struct pawl__json json;
    enum pawl_err err =
        pawl__json_parse(text, PAWL__FLOW_JSON_DEPTH_MAX, rules->arena, &json, diag);
    return err ? err : pawl__flow_read_json(&json, rules, out, diag);
}
