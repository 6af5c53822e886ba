/* The layouts of the Open Job Spec, compiled to nodes and edges. Layouts within each other are
 * compiled by recursion, at most PAWL__FLOW_NESTING_MAX deep. */
#include "base/diag.h"
#include "wire/flow_inside.h"

#include <stdio.h>
#include <string.h>

/* Where the nodes of a layout go. */
struct scope {
    const struct scope *outer; /* whose options hold too, unless an inner one says otherwise */
    const char *group;         /* NULL: the flow itself */
    const char *prefix;        /* of names: "" or "1." */
    struct pawl__flow_path path;
    uint32_t options; /* an object; 0: none */
    int depth;        /* 1: the flow itself */
};

typedef enum pawl_err layout_fn(struct pawl__flow_builder *b, const struct scope *scope,
                                const struct pawl__flow_object *object);
static layout_fn add_chain, add_group, add_batch, add_dag;

static const struct layout {
    const char *name;
    layout_fn *add;
} layouts[] = {
    { "chain", add_chain }, { "group", add_group }, { "batch", add_batch }, { "dag", add_dag }
};

/* How a callback hangs below what it is about. An unwanted one is skipped. */
static const struct callback {
    const char *name;
    enum pawl_flow_on on;
    enum pawl_flow_join join;
} callbacks[] = {
    { "on_complete", PAWL_FLOW_ON_ALWAYS, PAWL_FLOW_JOIN_EVERY },
    { "on_success", PAWL_FLOW_ON_SUCCESS, PAWL_FLOW_JOIN_EVERY },
    { "on_failure", PAWL_FLOW_ON_FAILURE, PAWL_FLOW_JOIN_ALL },
};
enum { CALLBACKS = sizeof callbacks / sizeof *callbacks };

static const struct callback *find_callback(const char *name)
{
    for (size_t i = 0; name && i < CALLBACKS; i++) {
        if (strcmp(callbacks[i].name, name) == 0) return &callbacks[i];
    }
    return NULL;
}

/* `prefix`, then `name` or, without one, the number. NULL: out of memory. */
static const char *name_of(const struct pawl__flow_builder *b, const char *prefix, const char *name,
                           size_t number)
{
    char digits[24];
    snprintf(digits, sizeof digits, "%zu", number);
    if (!name) name = digits;
    size_t len = strlen(prefix) + strlen(name);
    char *out = pawl__arena_alloc(b->rules->arena, len + 1);
    if (out) snprintf(out, len + 1, "%s%s", prefix, name);
    return out;
}

/* ---- steps ---- */

/* What a step says beside its job. */
struct step {
    const char *id;
    const char *const *depends_on;
    size_t depends_on_count;
    uint32_t options;
    const char *callback_type;
    struct pawl_span job; /* the other members */
};

static enum pawl_err read_token(struct pawl__shape_reader *reader,
                                const struct pawl__member *member, uint32_t token, void *base)
{
    if (reader->json.tokens[token].type != PAWL__JSON_OBJECT) {
        return pawl__shape_refuse(reader, member, "must be an object");
    }
    ((struct step *)base)->options = token;
    return PAWL_OK;
}

#define S struct step
static const struct pawl__member step_members[] = {
    PAWL__MEMBER("id", TEXT, S, id, .min = 1, .max = PAWL_FLOW_NAME_BYTES_MAX),
    PAWL__MEMBER("depends_on", TEXTS, S, depends_on, PAWL__COUNTED(S, depends_on_count)),
    PAWL__MEMBER("callback_type", TEXT, S, callback_type),
    PAWL__MEMBER("options", OWN, S, options, .read = read_token),
};
static const struct pawl__shape step_shape = PAWL__SHAPE(S, step_members);
#undef S

static enum pawl_err pass_on(struct pawl__shape_reader *reader, const struct pawl__shape *shape,
                             const char *name)
{
    return PAWL_OK;
}

/* ---- options ---- */

/* Was the member that is named at `name` given on a level before `end`? */
static bool given_before(const struct pawl__json *json, const uint32_t *levels, int end,
                         struct pawl_span name)
{
    for (int i = 0; i < end; i++) {
        if (pawl__json_member_span(json, levels[i], name)) return true;
    }
    return false;
}

static const char callback_type_name[] = "callback_type";

/* Adds those members of level `level` that no earlier one has, without "callback_type". */
static bool add_level(struct pawl__flow_builder *b, const uint32_t *levels, int level,
                      struct pawl__buf *out)
{
    const struct pawl__json *json = &b->json;
    uint32_t at = pawl__json_first(levels[level]);
    for (uint32_t left = json->tokens[levels[level]].count; left > 0; left--) {
        struct pawl_span name, text = pawl__json_span(json, at);
        struct pawl_span value = pawl__json_span(json, at + 1);
        name.at = pawl__json_string(json, at, b->rules->arena, &name.len);
        if (!name.at) return false;
        if (strcmp(name.at, callback_type_name) != 0 && !given_before(json, levels, level, name)) {
            pawl__buf_add(out, out->at[out->len - 1] == '{' ? "" : ",",
                          out->at[out->len - 1] == '{' ? 0 : 1);
            pawl__buf_add(out, text.at, text.len);
            pawl__buf_add(out, ":", 1);
            pawl__buf_add(out, value.at, value.len);
        }
        at = json->tokens[at + 1].next;
    }
    return true;
}

/* The object of the job: its members, and the options of the step and of the layouts around it,
 * from the inside out. They come first, so that a member of the job itself wins. */
static enum pawl_err job_text(struct pawl__flow_builder *b, const struct scope *scope,
                              const struct step *step, struct pawl_span *out)
{
    uint32_t levels[PAWL__FLOW_NESTING_MAX + 1];
    int count = 0;
    if (step->options) levels[count++] = step->options;
    for (; scope; scope = scope->outer) {
        if (scope->options) levels[count++] = scope->options;
    }
    struct pawl__buf text = { 0 };
    bool ok = true;
    pawl__buf_add_text(&text, "{\"options\":{");
    for (int i = 0; i < count && ok && !text.failed; i++) {
        ok = add_level(b, levels, i, &text);
    }
    pawl__buf_add_text(&text, step->job.len ? "}," : "}}");
    if (step->job.len) pawl__buf_add(&text, step->job.at + 1, step->job.len - 1);
    out->len = text.len;
    out->at = ok && !text.failed ? pawl__arena_dup(b->rules->arena, text.at, text.len) : NULL;
    pawl__buf_release(&text);
    return out->at ? PAWL_OK : pawl__fail_nomem(b->diag);
}

/* "callback_type", of the step or in its options. */
static enum pawl_err read_callback_type(struct pawl__flow_builder *b,
                                        const struct pawl__flow_path *path, struct step *step,
                                        const struct callback **out)
{
    uint32_t token = step->options ? pawl__json_member(&b->json, step->options, callback_type_name)
                                   : 0;
    if (token && b->json.tokens[token].type == PAWL__JSON_STRING) {
        step->callback_type = pawl__json_string(&b->json, token, b->rules->arena, NULL);
        if (!step->callback_type) return pawl__fail_nomem(b->diag);
    }
    *out = find_callback(step->callback_type);
    if (*out || !step->callback_type) return PAWL_OK;
    return pawl__flow_refuse(b, path, callback_type_name,
                             "must be on_complete, on_success or on_failure");
}

/* ---- nodes ---- */

/* A step that has steps of its own is a layout. */
static bool is_layout(const struct pawl__json *json, uint32_t token)
{
    return json->tokens[token].type == PAWL__JSON_OBJECT &&
           (pawl__json_member(json, token, "steps") || pawl__json_member(json, token, "jobs"));
}

static enum pawl_err add_layout(struct pawl__flow_builder *b, const struct scope *scope,
                                const struct pawl__flow_object *object, const char **name)
{
    const char *type = object->type ? object->type : "dag";
    for (size_t i = 0; i < sizeof layouts / sizeof *layouts; i++) {
        if (strcmp(layouts[i].name, type) != 0) continue;
        if (name) *name = layouts[i].name;
        return layouts[i].add(b, scope, object);
    }
    return pawl__flow_refuse(b, &scope->path, "type", "must be chain, group, batch or dag");
}

/* The group of a nested layout, and its members. */
static enum pawl_err add_nested(struct pawl__flow_builder *b, const struct scope *scope,
                                uint32_t token, const struct pawl__flow_path *path,
                                struct pawl_flow_node *node)
{
    struct pawl__flow_object object;
    if (scope->depth == PAWL__FLOW_NESTING_MAX) {
        return pawl__fail_field(b->diag, PAWL_ERR_LIMIT, path->text,
                                "\"%s\" is nested deeper than %d levels", path->text,
                                PAWL__FLOW_NESTING_MAX);
    }
    enum pawl_err err = pawl__flow_object(b, path, token, &object);
    if (err) return err;
    node->kind = PAWL_FLOW_KIND_GROUP;
    err = pawl__flow_builder_add(b, node);
    struct scope inner = {
        .outer = scope,
        .group = node->name,
        .prefix = name_of(b, node->name, ".", 0),
        .path = *path,
        .options = object.options,
        .depth = scope->depth + 1,
    };
    if (!inner.prefix) return pawl__fail_nomem(b->diag);
    return err ? err : add_layout(b, &inner, &object, NULL);
}

/* Adds the step at `token`; `node` has its name and edges. */
static enum pawl_err add_step(struct pawl__flow_builder *b, const struct scope *scope,
                              uint32_t token, const struct pawl__flow_path *path,
                              const struct step *step, struct pawl_flow_node *node)
{
    struct pawl_span text;
    node->group = scope->group;
    if (is_layout(&b->json, token)) return add_nested(b, scope, token, path, node);
    enum pawl_err err = job_text(b, scope, step, &text);
    if (!err) err = pawl__flow_job(b, path, text, &node->job);
    return err ? err : pawl__flow_builder_add(b, node);
}

/* Reads what stands beside the job, and names the node. A nested layout has its "id" as its name
 * too; its other members are read by add_nested. */
static enum pawl_err read_step(struct pawl__flow_builder *b, const struct scope *scope,
                               uint32_t token, const struct pawl__flow_path *path, size_t number,
                               struct step *step, struct pawl_flow_node *node)
{
    struct pawl__shape_reader reader = pawl__flow_reader(b, path);
    reader.unknown = PAWL__UNKNOWN_KEEP;
    reader.on_unknown = pass_on;
    *step = (struct step){ 0 };
    *node = (struct pawl_flow_node){ 0 };
    enum pawl_err err = pawl__shape_read(&reader, &step_shape, token, step);
    enum pawl_err kept = pawl__shape_kept(&reader, err ? NULL : &step->job);
    if (err || kept) return err ? err : kept;
    node->name = name_of(b, scope->prefix, step->id, number);
    return node->name ? PAWL_OK : pawl__fail_nomem(b->diag);
}

/* One edge from `parent`. */
static enum pawl_err set_edge(struct pawl__flow_builder *b, struct pawl_flow_node *node,
                              const char *parent, enum pawl_flow_on on)
{
    struct pawl_flow_edge *edge = pawl__arena_calloc(b->rules->arena, 1, sizeof *edge);
    if (!edge) return pawl__fail_nomem(b->diag);
    *edge = (struct pawl_flow_edge){ .parent = parent, .on = on };
    node->after = edge;
    node->after_count = 1;
    return PAWL_OK;
}

static void set_callback(struct pawl_flow_node *node, const struct callback *callback)
{
    node->join = callback->join;
    node->on_parent_failure = PAWL_FLOW_PARENT_SKIP;
}

/* ---- layouts ---- */

/* The list of a layout's steps: "steps", or "jobs", which some clients send for a chain. */
static enum pawl_err choose_list(struct pawl__flow_builder *b, const struct scope *scope,
                                 const struct pawl__flow_object *object, const char *wanted,
                                 uint32_t *list, const char **name)
{
    *list = object->steps ? object->steps : object->jobs;
    *name = object->steps ? "steps" : "jobs";
    if (object->steps && object->jobs) {
        return pawl__flow_refuse(b, &scope->path, "jobs", "cannot stand beside steps");
    }
    if (!*list) return pawl__flow_refuse(b, &scope->path, wanted, "is missing");
    if (object->callbacks && !(object->type && strcmp(object->type, "batch") == 0)) {
        return pawl__flow_refuse(b, &scope->path, "callbacks", "is for a batch");
    }
    return PAWL_OK;
}

/* Adds the steps of `list`, each below the one before it if `chained`. */
static enum pawl_err add_list(struct pawl__flow_builder *b, const struct scope *scope,
                              uint32_t list, const char *list_name, bool chained)
{
    uint32_t token = pawl__json_first(list);
    const char *previous = NULL;
    enum pawl_err err = PAWL_OK;
    for (size_t i = 0; i < b->json.tokens[list].count && !err; i++) {
        struct pawl__flow_path path = pawl__flow_path(scope->path.text, list_name, i);
        struct pawl_flow_node node;
        struct step step;
        err = read_step(b, scope, token, &path, i, &step, &node);
        if (!err && step.depends_on_count) {
            err = pawl__flow_refuse(b, &path, "depends_on", "is for steps of a dag");
        }
        if (!err && chained && previous) {
            err = set_edge(b, &node, previous, PAWL_FLOW_ON_SUCCESS);
        }
        if (!err) err = add_step(b, scope, token, &path, &step, &node);
        previous = node.name;
        token = b->json.tokens[token].next;
    }
    return err;
}

static enum pawl_err add_chain(struct pawl__flow_builder *b, const struct scope *scope,
                               const struct pawl__flow_object *object)
{
    const char *name;
    uint32_t list;
    enum pawl_err err = choose_list(b, scope, object, "steps", &list, &name);
    return err ? err : add_list(b, scope, list, name, true);
}

static enum pawl_err add_group(struct pawl__flow_builder *b, const struct scope *scope,
                               const struct pawl__flow_object *object)
{
    const char *name;
    uint32_t list;
    enum pawl_err err = choose_list(b, scope, object, "jobs", &list, &name);
    return err ? err : add_list(b, scope, list, name, false);
}

/* ---- batches ---- */

static enum pawl_err add_callback(struct pawl__flow_builder *b, const struct scope *scope,
                                  uint32_t token, const struct callback *callback,
                                  const char *parent)
{
    struct pawl__flow_path path = pawl__flow_member(scope->path.text, "callbacks");
    struct pawl_flow_node node;
    struct step step;
    path = pawl__flow_member(path.text, callback->name);
    enum pawl_err err = read_step(b, scope, token, &path, 0, &step, &node);
    if (err) return err;
    if (!step.id) node.name = name_of(b, scope->prefix, callback->name, 0);
    if (!node.name) return pawl__fail_nomem(b->diag);
    set_callback(&node, callback);
    node.callback = true;
    err = set_edge(b, &node, parent, callback->on);
    return err ? err : add_step(b, scope, token, &path, &step, &node);
}

/* The values of the callbacks, in the order of the table; 0: not given. */
static enum pawl_err read_callbacks(struct pawl__flow_builder *b, const struct scope *scope,
                                    const struct pawl__flow_object *object,
                                    uint32_t tokens[CALLBACKS])
{
    uint32_t found = 0, count = 0;
    if (!object->callbacks) return pawl__flow_refuse(b, &scope->path, "callbacks", "is missing");
    for (size_t i = 0; i < CALLBACKS; i++) {
        tokens[i] = pawl__json_member(&b->json, object->callbacks, callbacks[i].name);
        count += tokens[i] != 0;
        if (tokens[i] && b->json.tokens[tokens[i]].type == PAWL__JSON_NULL) tokens[i] = 0;
        found += tokens[i] != 0;
    }
    if (found == 0 || count < b->json.tokens[object->callbacks].count) {
        return pawl__flow_refuse(b, &scope->path, "callbacks",
                                 "must have on_complete, on_success or on_failure, nothing else");
    }
    return PAWL_OK;
}

/* Failures of the jobs are tolerated if a callback hears of them. */
static enum pawl_err add_jobs(struct pawl__flow_builder *b, const struct scope *scope,
                              bool may_fail, struct scope *inner)
{
    *inner = *scope;
    inner->group = name_of(b, scope->prefix, "jobs", 0);
    if (!inner->group) return pawl__fail_nomem(b->diag);
    return pawl__flow_builder_add(b, &(struct pawl_flow_node){ .kind = PAWL_FLOW_KIND_GROUP,
                                                               .name = inner->group,
                                                               .group = scope->group,
                                                               .may_fail = may_fail });
}

static enum pawl_err add_batch(struct pawl__flow_builder *b, const struct scope *scope,
                               const struct pawl__flow_object *object)
{
    uint32_t tokens[CALLBACKS] = { 0 }, list;
    const char *name;
    struct scope inner;
    enum pawl_err err = choose_list(b, scope, object, "jobs", &list, &name);
    if (!err) err = read_callbacks(b, scope, object, tokens);
    if (err) return err;
    bool may_fail = false;
    for (size_t i = 0; i < CALLBACKS; i++) {
        may_fail = may_fail || (tokens[i] && callbacks[i].on != PAWL_FLOW_ON_SUCCESS);
    }
    err = add_jobs(b, scope, may_fail, &inner);
    if (!err) err = add_list(b, &inner, list, name, false);
    for (size_t i = 0; i < CALLBACKS && !err; i++) {
        if (tokens[i]) err = add_callback(b, scope, tokens[i], &callbacks[i], inner.group);
    }
    return err;
}

/* ---- steps with "depends_on" ---- */

/* Names in "depends_on" are those of steps beside this one. */
static enum pawl_err set_edges(struct pawl__flow_builder *b, const struct scope *scope,
                               const struct step *step, enum pawl_flow_on on,
                               struct pawl_flow_node *node)
{
    struct pawl_flow_edge *edges =
        pawl__arena_calloc(b->rules->arena, step->depends_on_count + 1, sizeof *edges);
    if (!edges) return pawl__fail_nomem(b->diag);
    for (size_t i = 0; i < step->depends_on_count; i++) {
        edges[i].parent = name_of(b, scope->prefix, step->depends_on[i], 0);
        edges[i].on = on;
        if (!edges[i].parent) return pawl__fail_nomem(b->diag);
    }
    node->after = edges;
    node->after_count = step->depends_on_count;
    return PAWL_OK;
}

static enum pawl_err add_dag(struct pawl__flow_builder *b, const struct scope *scope,
                             const struct pawl__flow_object *object)
{
    const char *name;
    uint32_t list = 0;
    enum pawl_err err = choose_list(b, scope, object, "steps", &list, &name);
    uint32_t token = pawl__json_first(list);
    for (size_t i = 0; !err && i < b->json.tokens[list].count; i++) {
        struct pawl__flow_path path = pawl__flow_path(scope->path.text, name, i);
        const struct callback *callback = NULL;
        struct pawl_flow_node node;
        struct step step;
        err = read_step(b, scope, token, &path, i, &step, &node);
        if (!err) err = read_callback_type(b, &path, &step, &callback);
        if (!err && callback && !step.depends_on_count) {
            err = pawl__flow_refuse(b, &path, callback_type_name, "needs depends_on");
        }
        if (callback) set_callback(&node, callback);
        if (!err) {
            err = set_edges(b, scope, &step, callback ? callback->on : PAWL_FLOW_ON_SUCCESS, &node);
        }
        if (!err) err = add_step(b, scope, token, &path, &step, &node);
        token = b->json.tokens[token].next;
    }
    return err;
}

enum pawl_err pawl__flow_layout(struct pawl__flow_builder *b, struct pawl__flow_object *object)
{
    struct scope whole = { .prefix = "", .options = object->options, .depth = 1 };
    if (!object->type && !object->steps) {
        return pawl__flow_refuse(b, &whole.path, "nodes",
                                 "or \"steps\" is missing, or \"type\" and \"jobs\"");
    }
    return add_layout(b, &whole, object, &object->spec.layout);
}
