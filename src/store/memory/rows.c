/* Rows: made as copies, put in the place of others, and taken back. */
#include "store/memory/memory.h"

#include "base/diag.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

const struct pawl_job_id pawl__mem_no_job;

/* ---- one row ---- */

/* The bytes that a field points to; false: it points to none. */
static bool text_of(enum pawl__kind kind, const void *at, struct pawl_span *out)
{
    switch (kind) {
    case PAWL__KIND_TEXT: {
        const char *text = *(const char *const *)at;
        *out = (struct pawl_span){ text, text ? strlen(text) : 0 };
        return true;
    }
    case PAWL__KIND_ARGS:
        *out = *(const struct pawl_span *)at;
        if (!out->len) *out = (struct pawl_span){ "[]", 2 };
        return true;
    case PAWL__KIND_JSON:
    case PAWL__KIND_BYTES:
        *out = *(const struct pawl_span *)at;
        return true;
    default:
        return false;
    }
}

static size_t text_bytes(const struct pawl__mem_shape *shape, const void *data)
{
    size_t bytes = 0;
    for (size_t i = 0; i < shape->of->count; i++) {
        const struct pawl__field *field = &shape->of->fields[i];
        struct pawl_span text;
        if (text_of(field->kind, (const char *)data + field->offset, &text)) bytes += text.len + 1;
    }
    return bytes;
}

/* The texts of a struct go to `room`, each with a NUL behind it. */
static void own_texts(const struct pawl__mem_shape *shape, char *data, char *room)
{
    for (size_t i = 0; i < shape->of->count; i++) {
        const struct pawl__field *field = &shape->of->fields[i];
        struct pawl_span text;
        void *at = data + field->offset;
        if (!text_of(field->kind, at, &text)) continue;
        if (text.len) memcpy(room, text.at, text.len);
        room[text.len] = '\0';
        text.at = room;
        room += text.len + 1;
        if (field->kind == PAWL__KIND_TEXT) {
            *(const char **)at = text.at;
        } else {
            *(struct pawl_span *)at = text;
        }
    }
}

bool pawl__mem_copy(enum pawl__mem_table table, const void *data, struct pawl__arena *arena,
                    void *out)
{
    const struct pawl__mem_shape *shape = &pawl__mem_shapes[table];
    char *room = pawl__arena_alloc(arena, text_bytes(shape, data));
    if (!room) return false;
    memcpy(out, data, shape->of->bytes);
    own_texts(shape, out, room);
    return true;
}

static struct pawl__mem_row *new_row(struct pawl__backend *mem, const struct pawl__mem_shape *shape,
                                     const void *data)
{
    size_t head = sizeof(struct pawl__mem_row) + shape->order_count * sizeof(struct pawl__mem_node);
    size_t bytes = head + shape->of->bytes + text_bytes(shape, data);
    struct pawl__mem_row *row = malloc(bytes);
    if (!row) return NULL;
    char *copy = (char *)row + head;
    memcpy(copy, data, shape->of->bytes);
    if (shape->of->of_job) *(const struct pawl__row **)(void *)copy = NULL;
    own_texts(shape, copy, copy + shape->of->bytes);
    row->weight = pawl__rng_next(&mem->set.rng);
    row->bytes = bytes;
    row->shape = shape;
    row->data = copy;
    mem->bytes += (int64_t)bytes;
    return row;
}

static void free_row(struct pawl__backend *mem, struct pawl__mem_row *row)
{
    if (row) mem->bytes -= (int64_t)row->bytes;
    free(row);
}

/* ---- the journal ---- */

static void link_all(struct pawl__backend *mem, enum pawl__mem_table table,
                     struct pawl__mem_row *row)
{
    const struct pawl__mem_shape *shape = &pawl__mem_shapes[table];
    for (size_t i = 0; row && i < shape->order_count; i++) {
        if (shape->orders[i].holds && !shape->orders[i].holds(row)) continue;
        pawl__mem_link(&mem->tables[table][i], row);
    }
}

static void unlink_all(struct pawl__backend *mem, enum pawl__mem_table table,
                       struct pawl__mem_row *row)
{
    const struct pawl__mem_shape *shape = &pawl__mem_shapes[table];
    for (size_t i = 0; row && i < shape->order_count; i++) {
        if (shape->orders[i].holds && !shape->orders[i].holds(row)) continue;
        pawl__mem_unlink(&mem->tables[table][i], row);
    }
}

static bool room_for_change(struct pawl__backend *mem)
{
    if (mem->change_count < mem->change_cap) return true;
    size_t cap = mem->change_cap ? mem->change_cap * 2 : 64;
    struct pawl__mem_change *journal = realloc(mem->journal, cap * sizeof *journal);
    if (!journal) return false;
    mem->journal = journal;
    mem->change_cap = cap;
    return true;
}

/* There is room in the journal. */
static void change(struct pawl__backend *mem, struct pawl__mem_change change)
{
    unlink_all(mem, change.table, change.was);
    link_all(mem, change.table, change.is);
    mem->journal[mem->change_count++] = change;
}

/* Where rows are told apart by when they came, no row has the next number yet. */
struct pawl__mem_row *pawl__mem_find(const struct pawl__backend *mem, enum pawl__mem_table table,
                                     struct pawl_job_id of, const void *data)
{
    const struct pawl__mem_index *index = pawl__mem_index_of(mem, table, PAWL__MEM_BY_KEY);
    struct pawl__mem_row probe = {
        .of = of, .seq = mem->seq + 1, .shape = &pawl__mem_shapes[table], .data = data
    };
    struct pawl__mem_row *row = pawl__mem_from(index, &probe);
    return row && index->compare(row, &probe) == 0 ? row : NULL;
}

enum pawl_err pawl__mem_put(struct pawl__backend *mem, enum pawl__mem_table table,
                            struct pawl_job_id of, const void *data)
{
    struct pawl__mem_row *was = pawl__mem_find(mem, table, of, data);
    struct pawl__mem_row *is = room_for_change(mem) ? new_row(mem, &pawl__mem_shapes[table], data)
                                                    : NULL;
    if (!is) return pawl__fail_nomem(mem->set.diag);
    is->of = of;
    is->seq = was ? was->seq : ++mem->seq;
    change(mem, (struct pawl__mem_change){ table, was, is });
    return PAWL_OK;
}

enum pawl_err pawl__mem_drop(struct pawl__backend *mem, enum pawl__mem_table table,
                             struct pawl__mem_row *row)
{
    if (!room_for_change(mem)) return pawl__fail_nomem(mem->set.diag);
    change(mem, (struct pawl__mem_change){ .table = table, .was = row });
    return PAWL_OK;
}

void pawl__mem_keep(struct pawl__backend *mem)
{
    for (size_t i = 0; i < mem->change_count; i++) {
        free_row(mem, mem->journal[i].was);
    }
    mem->change_count = 0;
}

void pawl__mem_undo(struct pawl__backend *mem)
{
    while (mem->change_count) {
        const struct pawl__mem_change *last = &mem->journal[--mem->change_count];
        unlink_all(mem, last->table, last->is);
        link_all(mem, last->table, last->was);
        free_row(mem, last->is);
    }
}

void pawl__mem_rows_release(struct pawl__backend *mem)
{
    for (int table = 0; table < PAWL__MEM_TABLES; table++) {
        struct pawl__mem_index *index = &mem->tables[table][PAWL__MEM_BY_KEY];
        struct pawl__mem_row *row;
        while ((row = index->root)) {
            pawl__mem_unlink(index, row);
            free_row(mem, row);
        }
    }
    assert(!mem->bytes);
    free(mem->journal);
}

/* ---- rows of a job ---- */

struct pawl__mem_row *pawl__mem_job_find(const struct pawl__backend *mem, struct pawl_job_id id)
{
    return pawl__mem_find(mem, PAWL__MEM_JOB, id, NULL);
}

static bool is_of(const struct pawl__mem_row *row, const struct pawl_job_id *of)
{
    return row && memcmp(&row->of, of, sizeof *of) == 0;
}

/* Nothing is compared but the job, and in order of coming: seq 0 is before all. */
struct pawl__mem_row *pawl__mem_first_of(const struct pawl__backend *mem,
                                         enum pawl__mem_table table, struct pawl_job_id of)
{
    const struct pawl__mem_row probe = { .of = of };
    struct pawl__mem_row *row =
        pawl__mem_from(pawl__mem_index_of(mem, table, PAWL__MEM_BY_KEY), &probe);
    return is_of(row, &of) ? row : NULL;
}

struct pawl__mem_row *pawl__mem_next_of(const struct pawl__backend *mem, enum pawl__mem_table table,
                                        const struct pawl__mem_row *row)
{
    struct pawl__mem_row *next =
        pawl__mem_after(pawl__mem_index_of(mem, table, PAWL__MEM_BY_KEY), row);
    return is_of(next, &row->of) ? next : NULL;
}
