/* Events as Server-Sent Events. Lines end with a line feed alone: clients split at nothing else. */
#include "base/time_text.h"
#include "http/events/inside.h"

#include <string.h>

static void add_text(struct pawl__buf *out, const char *name, const char *text)
{
    pawl__buf_add_text(out, name);
    pawl__buf_add_json(out, text, strlen(text));
}

static void add_instant(struct pawl__buf *out, const char *name, int64_t at_ms)
{
    char text[PAWL__INSTANT_TEXT_BYTES];
    pawl__instant_text(at_ms, text);
    pawl__buf_printf(out, "%s\"%s\"", name, text);
}

static void add_job(struct pawl__buf *out, const struct pawl__record *record, const char *type_name)
{
    char id[PAWL_JOB_ID_TEXT_BYTES];
    pawl_job_id_text(record->job, id);
    pawl__buf_printf(out, "{\"job_id\":\"%s\"", id);
    if (record->queue) add_text(out, ",\"queue\":", record->queue->text);
    if (record->type) add_text(out, type_name, record->type->text);
}

static void add_states(struct pawl__buf *out, const struct pawl__record *record)
{
    const char *to = pawl_state_name(record->to, PAWL_VOCABULARY_OJS);
    if (record->from) {
        const char *from = pawl_state_name(record->from, PAWL_VOCABULARY_OJS);
        pawl__buf_printf(out, ",\"from\":\"%s\",\"to\":\"%s\"", from, to);
    } else {
        pawl__buf_printf(out, ",\"from\":null,\"to\":\"%s\"", to);
    }
}

static void add_data(struct pawl__buf *out, const struct pawl__record *record,
                     enum pawl__event_kind kind)
{
    if (record->has_job) {
        add_job(out, record, kind == PAWL__EVENT_STATE_CHANGED ? ",\"type\":" : ",\"job_type\":");
        if (record->to) add_states(out, record);
    } else {
        add_text(out, "{\"subject\":", record->subject ? record->subject : "");
        if (record->queue) add_text(out, ",\"queue\":", record->queue->text);
    }
    if (record->progress >= 0) {
        pawl__buf_printf(out, ",\"progress\":%d", (int)(record->progress * 100 + 0.5));
    }
    if (record->data) {
        pawl__buf_add(out, ",", 1);
        pawl__buf_add_text(out, record->data);
    }
    add_instant(out, ",\"timestamp\":", record->at_ms);
    pawl__buf_add(out, "}", 1);
}

static void add_head(struct pawl__buf *out, const struct pawl_job_id *id, size_t nth,
                     const char *type)
{
    char text[PAWL__EVENT_ID_BYTES];
    pawl__event_id_text(id, nth, text);
    pawl__buf_add(out, "id: ", 4);
    pawl__buf_add_text(out, text);
    pawl__buf_add(out, "\nevent: ", 8);
    pawl__buf_add_text(out, type);
    pawl__buf_add(out, "\ndata: ", 7);
}

void pawl__stream_print(struct pawl__buf *out, const struct pawl__record *record,
                        enum pawl__event_kind kind, size_t nth)
{
    add_head(out, &record->id, nth, pawl__event_type(kind));
    add_data(out, record, kind);
    pawl__buf_add(out, "\n\n", 2);
}

/* ---- progress streams ---- */

static const char *ending(enum pawl_state state)
{
    if (state == PAWL_STATE_CANCELLED) return "cancelled";
    return pawl_state_is_successful(state) ? "completed" : "failed";
}

void pawl__stream_print_progress(struct pawl__buf *out, const struct pawl__record *record)
{
    char id[PAWL_JOB_ID_TEXT_BYTES];
    bool moved = record->kind == PAWL__EVENT_STATE_CHANGED;
    bool ended = moved && pawl_state_is_terminal(record->to);
    if (!ended && record->kind != PAWL__EVENT_PROGRESS) return;
    pawl_job_id_text(record->job, id);
    add_head(out, &record->id, moved ? 0 : 1, ended ? ending(record->to) : "progress");
    pawl__buf_printf(out, "{\"job_id\":\"%s\"", id);
    if (ended) {
        pawl__buf_printf(out, ",\"state\":\"%s\"",
                         pawl_state_name(record->to, PAWL_VOCABULARY_OJS));
    }
    double value = ended && pawl_state_is_successful(record->to) ? 1 : record->progress;
    if (value >= 0) pawl__buf_printf(out, ",\"progress\":%.10g", value);
    if (record->data) {
        pawl__buf_add(out, ",", 1);
        pawl__buf_add_text(out, record->data);
    }
    add_instant(out, ",\"updated_at\":", record->at_ms);
    pawl__buf_add(out, "}\n\n", 3);
}

void pawl__stream_print_for(struct pawl__buf *out, const struct pawl__record *record,
                            const struct pawl__listener *listener)
{
    enum pawl__event_kind kinds[PAWL__EVENTS_OF_RECORD_MAX];
    if (listener->progress) {
        pawl__stream_print_progress(out, record);
        return;
    }
    if (record->kind == PAWL__EVENT_STATE_CHANGED &&
        listener->kinds & PAWL__KIND_BIT(PAWL__EVENT_STATE_CHANGED)) {
        pawl__stream_print(out, record, PAWL__EVENT_STATE_CHANGED, 0);
    }
    size_t count = pawl__record_kinds(record, kinds);
    for (size_t i = 0; i < count; i++) {
        if (listener->kinds & PAWL__KIND_BIT(kinds[i])) {
            pawl__stream_print(out, record, kinds[i], i + 1);
        }
    }
}

/* ---- what the server itself has to say ---- */

void pawl__stream_print_gap(struct pawl__buf *out, struct pawl_job_id newest, const char *reason)
{
    add_head(out, &newest, 3, "system.gap");
    pawl__buf_printf(out, "{\"reason\":\"%s\"}\n\n", reason);
}

void pawl__stream_print_shutdown(struct pawl__buf *out, struct pawl_job_id newest)
{
    add_head(out, &newest, 3, "server.shutdown");
    pawl__buf_add_text(out, "{\"reason\":\"shutdown\",\"grace_period_ms\":5000}\n\n");
}
