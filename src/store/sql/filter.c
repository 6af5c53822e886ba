/* A filter as WHERE terms. */
#include "store/sql/filter.h"

#include "base/id.h"
#include "fields/fields.h"
#include "lifecycle/lifecycle.h"

#include <assert.h>
#include <string.h>

/* ---- drafts ---- */

void pawl__draft_init(struct pawl__draft *draft, const struct pawl__dialect *dialect)
{
    draft->dialect = dialect;
    draft->archive = draft->flag = draft->has_where = false;
    draft->sql = (struct pawl__buf){ 0 };
    draft->marks = draft->count = 0; // `values` are written before they are read
}

void pawl__draft_release(struct pawl__draft *draft)
{
    assert(draft->marks == draft->count);
    pawl__buf_release(&draft->sql);
}

void pawl__draft_text(struct pawl__draft *draft, const char *text)
{
    pawl__buf_add_text(&draft->sql, text);
}

void pawl__draft_add(struct pawl__draft *draft, const char *text)
{
    const char *at;
    for (; (at = strchr(text, '?')); text = at + 1) {
        pawl__buf_add(&draft->sql, text, (size_t)(at - text));
        pawl__buf_printf(&draft->sql, "%c%zu", draft->dialect->mark, ++draft->marks);
    }
    pawl__buf_add_text(&draft->sql, text);
}

static void open_term(struct pawl__draft *draft)
{
    pawl__buf_add_text(&draft->sql, draft->has_where ? " AND " : " WHERE ");
    draft->has_where = true;
}

void pawl__draft_term(struct pawl__draft *draft, const char *text)
{
    open_term(draft);
    pawl__draft_add(draft, text);
}

static struct pawl__value *next_value(struct pawl__draft *draft, enum pawl__value_kind kind)
{
    assert(draft->count < PAWL__DRAFT_VALUES_MAX);
    struct pawl__value *value = &draft->values[draft->count++];
    value->kind = kind;
    return value;
}

void pawl__draft_number(struct pawl__draft *draft, int64_t number)
{
    next_value(draft, PAWL__VALUE_NUMBER)->number = number;
}

void pawl__draft_id(struct pawl__draft *draft, struct pawl_job_id id)
{
    next_value(draft, PAWL__VALUE_ID)->id = id;
}

void pawl__draft_given(struct pawl__draft *draft, int64_t number)
{
    draft->marks++;
    pawl__draft_number(draft, number);
}

static void add_span(struct pawl__draft *draft, const char *at, size_t len)
{
    next_value(draft, PAWL__VALUE_TEXT)->text = (struct pawl_span){ at, len };
}

static void add_string(struct pawl__draft *draft, const char *text)
{
    add_span(draft, text, strlen(text));
}

void pawl__draft_states(struct pawl__draft *draft, uint32_t states)
{
    const char *before = " IN (";
    for (int state = 1; state < PAWL_STATE_END; state++) {
        if (!(states & PAWL_STATE_BIT(state))) continue;
        pawl__buf_printf(&draft->sql, "%s%d", before, state);
        before = ", ";
    }
    pawl__buf_add_text(&draft->sql, states ? ")" : " IN (0)");
}

/* ---- filters ---- */

static void number_term(struct pawl__draft *draft, const char *column, const char *test,
                        int64_t number)
{
    if (!number) return;
    open_term(draft);
    pawl__draft_text(draft, column);
    pawl__draft_add(draft, test);
    pawl__draft_number(draft, number);
}

static void range_terms(struct pawl__draft *draft, const char *column, int64_t from, int64_t until)
{
    number_term(draft, column, " >= ?", from);
    number_term(draft, column, " < ?", until);
}

static void string_term(struct pawl__draft *draft, const char *column, const char *value)
{
    if (!value || !*value) return;
    open_term(draft);
    pawl__draft_text(draft, column);
    pawl__draft_add(draft, " = ?");
    add_string(draft, value);
}

static void list_term(struct pawl__draft *draft, const char *before, const char *const *list,
                      size_t count, const char *after)
{
    if (!count) return;
    open_term(draft);
    pawl__draft_text(draft, before);
    for (size_t i = 0; i < count; i++) {
        pawl__draft_add(draft, i ? ", ?" : " IN (?");
        add_string(draft, list[i]);
    }
    pawl__draft_text(draft, after);
}

/* What comes before the star is taken literally. */
static void add_type(struct pawl__draft *draft, const char *type)
{
    if (pawl__type_is_wild(type)) {
        pawl__draft_add(draft, draft->dialect->type_begins);
        add_span(draft, type, strlen(type) - 1);
    } else {
        pawl__draft_text(draft, draft->dialect->type);
        pawl__draft_add(draft, " = ?");
        add_string(draft, type);
    }
}

static void queue_term(struct pawl__draft *draft, const struct pawl_filter *filter)
{
    list_term(draft, "q.name", filter->queues, filter->queue_count, ")");
}

static void tag_term(struct pawl__draft *draft, const struct pawl_filter *filter)
{
    list_term(draft, draft->dialect->tagged, filter->tags, filter->tag_count, "))");
}

static void type_term(struct pawl__draft *draft, const struct pawl_filter *filter)
{
    bool wild = false;
    for (size_t i = 0; i < filter->type_count; i++) {
        wild |= pawl__type_is_wild(filter->types[i]);
    }
    if (!wild) {
        list_term(draft, draft->dialect->type, filter->types, filter->type_count, ")");
        return;
    }
    open_term(draft);
    for (size_t i = 0; i < filter->type_count; i++) {
        pawl__draft_text(draft, i ? " OR " : "(");
        add_type(draft, filter->types[i]);
    }
    pawl__draft_text(draft, ")");
}

static void prefix_term(struct pawl__draft *draft, const struct pawl_filter *filter)
{
    struct pawl_job_id low, high;
    if (!filter->id_prefix) return;
    bool ok = pawl__id_range(filter->id_prefix, &low, &high);
    assert(ok);
    draft->dialect->ids(draft, low, high);
}

static void meta_term(struct pawl__draft *draft, const struct pawl_filter *filter)
{
    if (!filter->meta_key) return;
    pawl__draft_term(draft, draft->dialect->meta);
    add_string(draft, filter->meta_key);
    add_string(draft, filter->meta_value ? filter->meta_value : "");
}

static void priority_term(struct pawl__draft *draft, const struct pawl_filter *filter)
{
    if (!filter->priority_given) return;
    pawl__draft_term(draft, "j.priority BETWEEN ? AND ?");
    pawl__draft_number(draft, filter->priority_min);
    pawl__draft_number(draft, filter->priority_max);
}

/* For each kind of the list: the term of a member. */
#define FACT(column) "j." #column
#define STAND(column) columns->column
#define TERM_KEY(member, column) string_term(draft, column, filter->member)
#define TERM_WORKER(member, column) string_term(draft, column, filter->member)
#define TERM_RANGE(member, column)                                                                 \
    range_terms(draft, column, filter->member##_from_ms, filter->member##_until_ms)
#define TERM_FLAG(member, column)                                                                  \
    if (filter->member) pawl__draft_term(draft, column)
#define TERM_STATES(member, none)                                                                  \
    if (filter->member) dialect->states(draft, filter->member)
#define TERM_PREFIX(member, none) prefix_term(draft, filter)
#define TERM_NAMES(member, none) member##_term(draft, filter)
#define TERM_TAGS(member, none) member##_term(draft, filter)
#define TERM_PAIR(member, none) member##_term(draft, filter)
#define TERM_NUMBERS(member, none) member##_term(draft, filter)
#define TERM_ARCHIVE(member, none) // the caller asks the archive or does not

void pawl__draft_filter(struct pawl__draft *draft, const struct pawl_filter *filter)
{
    const struct pawl__dialect *dialect = draft->dialect;
    const struct pawl__dialect_columns *columns = draft->archive ? &dialect->archive
                                                                 : &dialect->live;
#define X(member, kind, column) TERM_##kind(member, column);
    PAWL__FILTER_FIELDS(X)
#undef X
}
