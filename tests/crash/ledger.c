#include "crash/ledger.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define BIT(name) PAWL_STATE_BIT(PAWL_STATE_##name)

enum { GET_MAX = 500 };

#define X(name, text, after) text,
static const char *const deed_names[DEED_END] = { DEEDS(X) };
#undef X
#define X(name, text, after) after,
static const uint32_t deed_states[DEED_END] = { DEEDS(X) };
#undef X

/* Where a job may be found without anybody having claimed it, when it was last seen in a state:
 * time makes waiting jobs available, and takes leases of dead children back. */
static const uint32_t drift[PAWL_STATE_END] = {
    [PAWL_STATE_NONE] = BIT(SCHEDULED) | BIT(AVAILABLE), // just submitted
    [PAWL_STATE_SCHEDULED] = BIT(SCHEDULED) | BIT(AVAILABLE),
    [PAWL_STATE_AVAILABLE] = BIT(AVAILABLE),
    [PAWL_STATE_ACTIVE] = BIT(ACTIVE) | BIT(AVAILABLE) | BIT(DISCARDED),
    [PAWL_STATE_RETRYABLE] = BIT(RETRYABLE) | BIT(AVAILABLE),
    [PAWL_STATE_COMPLETED] = BIT(COMPLETED),
    [PAWL_STATE_CANCELLED] = BIT(CANCELLED),
    [PAWL_STATE_DISCARDED] = BIT(DISCARDED),
};

const char *deed_name(enum deed deed)
{
    return deed_names[deed];
}

/* ---- batches ---- */

uint64_t batch_number(struct batch_of of)
{
    assert(of.round < 65536 && of.child < 16 && of.thread < 16 && of.number < 1 << 24);
    return (uint64_t)of.round << 32 | (uint64_t)of.child << 28 | (uint64_t)of.thread << 24 |
           of.number;
}

struct pawl_job_id batch_job(uint64_t batch, uint32_t index)
{
    return kit_job_id(batch, index, batch % 16 == 5); // some ids differ in their tails alone
}

size_t batch_args(uint64_t batch, uint32_t index, uint32_t count, char out[BATCH_ARGS_BYTES])
{
    int len = snprintf(out, BATCH_ARGS_BYTES, "[%" PRIu64 ",%" PRIu32 ",%" PRIu32 ",\"", batch,
                       index, count);
    size_t filler = batch % 7 == 3 ? 3000 + batch * 97 % 5000 : batch % 100;
    memset(out + len, 'a' + (int)(batch % 26), filler);
    memcpy(out + len + filler, "\"]", 3);
    return (size_t)len + filler + 2;
}

bool batch_has_key(uint64_t batch)
{
    return batch % 4 == 1;
}

/* ---- entries ---- */

static size_t slot_of(const struct ledger *ledger, struct pawl_job_id id)
{
    uint64_t hash = UINT64_C(14695981039346656037);
    for (size_t i = 0; i < sizeof id.b; i++) {
        hash = (hash ^ id.b[i]) * UINT64_C(1099511628211);
    }
    size_t slot = hash & (ledger->slot_count - 1);
    while (ledger->slots[slot] && !kit_same_id(ledger->slots[slot]->id, id)) {
        slot = (slot + 1) & (ledger->slot_count - 1);
    }
    return slot;
}

struct entry *ledger_find(struct ledger *ledger, struct pawl_job_id id)
{
    return ledger->slots[slot_of(ledger, id)];
}

static void *must(void *memory)
{
    if (memory) return memory;
    fprintf(stderr, "crash: out of memory\n");
    abort();
}

static void grow(struct ledger *ledger)
{
    struct entry **old = ledger->slots;
    size_t old_count = ledger->slot_count;
    ledger->slot_count = old_count * 2;
    ledger->slots = must(calloc(ledger->slot_count, sizeof(struct entry *)));
    for (size_t i = 0; i < old_count; i++) {
        if (old[i]) ledger->slots[slot_of(ledger, old[i]->id)] = old[i];
    }
    free(old);
}

static struct entry *entry_add(struct ledger *ledger, struct pawl_job_id id)
{
    if (ledger->entry_count * 2 >= ledger->slot_count) grow(ledger);
    struct entry *entry = must(calloc(1, sizeof *entry));
    entry->id = id;
    ledger->slots[slot_of(ledger, id)] = entry;
    ledger->entry_count++;
    return entry;
}

static void touch(struct ledger *ledger, struct entry *entry)
{
    if (entry->touched) return;
    entry->touched = true;
    if (ledger->touched_count == ledger->touched_room) {
        ledger->touched_room = ledger->touched_room ? ledger->touched_room * 2 : 1024;
        ledger->touched =
            must(realloc(ledger->touched, ledger->touched_room * sizeof(struct entry *)));
    }
    ledger->touched[ledger->touched_count++] = entry;
}

void ledger_init(struct ledger *ledger)
{
    *ledger = (struct ledger){ .complaints = { .suite = "crash" }, .slot_count = 4096 };
    ledger->slots = must(calloc(ledger->slot_count, sizeof(struct entry *)));
}

void ledger_release(struct ledger *ledger)
{
    for (size_t i = 0; i < ledger->slot_count; i++) {
        free(ledger->slots[i]);
    }
    free(ledger->slots);
    free(ledger->touched);
    *ledger = (struct ledger){ 0 };
}

/* ---- noting ---- */

static void complain_of(struct ledger *ledger, const struct entry *entry, const char *what)
{
    char id[PAWL_JOB_ID_TEXT_BYTES];
    pawl_job_id_text(entry->id, id);
    kit_complain(&ledger->complaints,
                 "job %s (was %s, run %" PRId64 "; claimed %" PRIx64 " ended %" PRIx64
                 " intended %" PRIx64 "): %s",
                 id, kit_state(entry->base_state), entry->base_run, entry->claimed, entry->ended,
                 entry->intended, what);
}

static uint64_t run_bit(struct ledger *ledger, const struct entry *entry, int64_t run)
{
    if (run > 0 && run < RUNS_MAX) return UINT64_C(1) << run;
    complain_of(ledger, entry, "a run beyond what the test foresees");
    return 0;
}

static void note_submit(struct ledger *ledger, const struct record *record)
{
    for (uint32_t i = 0; i < record->count; i++) {
        struct pawl_job_id id = batch_job(record->batch, i);
        struct entry *entry = ledger_find(ledger, id);
        if (!entry) entry = entry_add(ledger, id);
        entry->batch = record->batch;
        entry->index = i;
        entry->count = record->count;
        if (record->phase == PHASE_ANSWER) {
            entry->acknowledged = record->err == PAWL_OK;
            entry->refused = !entry->acknowledged;
        }
        touch(ledger, entry);
    }
}

static void note_claim(struct ledger *ledger, struct entry *entry, const struct record *record)
{
    uint64_t bit = run_bit(ledger, entry, record->run);
    if (entry->claimed & bit) complain_of(ledger, entry, "a run was given out twice");
    if (record->run <= entry->base_run) complain_of(ledger, entry, "a run was given out again");
    entry->claimed |= bit;
}

static void note_end_intent(struct ledger *ledger, struct entry *entry, const struct record *record)
{
    entry->intended |= run_bit(ledger, entry, record->run);
    if (record->run > entry->intended_run) {
        entry->intended_run = record->run;
        entry->intended_deed = (enum deed)record->deed;
    }
}

static void note_end(struct ledger *ledger, struct entry *entry, const struct record *record)
{
    uint64_t bit = run_bit(ledger, entry, record->run);
    if (record->err == PAWL_ERR_STALE) {
        if (!entry->cancel_meant) complain_of(ledger, entry, "its owner was refused as stale");
        entry->intended &= ~bit;
        if (entry->intended_run == record->run) entry->intended_run = 0;
        return;
    }
    if (entry->ended & bit) complain_of(ledger, entry, "a run ended twice");
    if (!(deed_states[record->deed] & PAWL_STATE_BIT(record->to))) {
        complain_of(ledger, entry, "came to a state that its deed cannot lead to");
    }
    entry->ended |= bit;
    if (record->run > entry->ended_run) {
        entry->ended_run = record->run;
        entry->ended_to = (enum pawl_state)record->to;
    }
}

static void note_cancel(struct entry *entry, const struct record *record)
{
    if (record->phase == PHASE_INTENT) {
        entry->cancels_open++;
        entry->cancel_meant = true;
        return;
    }
    entry->cancels_open--;
    if (record->err == PAWL_OK) entry->cancelled = true;
}

static void note_checkpoint(struct entry *entry, const struct record *record)
{
    if (record->phase != PHASE_ANSWER || record->err || record->run < entry->checkpoint_run) return;
    entry->checkpoint_run = record->run;
    entry->checkpoint_sequence = record->sequence;
}

/* Errors that are answers: somebody was faster. Anything else is a failure of the store. */
static bool is_answer(const struct record *record)
{
    switch (record->err) {
    case PAWL_OK:
        return true;
    case PAWL_ERR_STALE:
        return record->deed != DEED_SUBMIT && record->deed != DEED_CLAIM &&
               record->deed != DEED_CANCEL && record->deed != DEED_SWEEP;
    case PAWL_ERR_STATE:
        return record->deed == DEED_CANCEL;
    default:
        return false;
    }
}

void ledger_note(struct ledger *ledger, const struct record *record)
{
    ledger->records++;
    assert(record->deed < DEED_END);
    if (record->phase == PHASE_ANSWER && !is_answer(record)) {
        kit_complain(&ledger->complaints, "%s was answered with %s: %.80s",
                     deed_name((enum deed)record->deed), pawl_err_name((enum pawl_err)record->err),
                     record->text);
    }
    if (record->phase == PHASE_ANSWER && !record->err) ledger->answers[record->deed]++;
    if (record->deed == DEED_SUBMIT) note_submit(ledger, record);
    if (record->deed == DEED_SUBMIT || record->deed == DEED_SWEEP) return;
    struct entry *entry = ledger_find(ledger, record->id);
    if (!entry) {
        kit_complain(&ledger->complaints, "a claim gave a job that nobody submitted");
        return;
    }
    touch(ledger, entry);
    if (record->deed == DEED_CLAIM)
        note_claim(ledger, entry, record);
    else if (record->deed == DEED_CANCEL)
        note_cancel(entry, record);
    else if (record->deed == DEED_CHECKPOINT)
        note_checkpoint(entry, record);
    else if (record->phase == PHASE_INTENT)
        note_end_intent(ledger, entry, record);
    else if (!record->err || record->err == PAWL_ERR_STALE)
        note_end(ledger, entry, record);
}

/* ---- judging ---- */

/* The states in which the job may be, given the run it is on. */
static uint32_t states_allowed(const struct entry *entry, int64_t run)
{
    if (entry->cancelled) return BIT(CANCELLED);
    uint32_t states = 0;
    if (entry->ended_run == run && run) {
        states = pawl_state_is_terminal(entry->ended_to) ? PAWL_STATE_BIT(entry->ended_to)
                                                         : drift[entry->ended_to];
    } else if (run > entry->base_run) {
        states = BIT(ACTIVE);
        if (entry->intended_run == run) states |= deed_states[entry->intended_deed];
    } else {
        states = drift[entry->base_state];
    }
    if (entry->cancels_open) states |= BIT(CANCELLED);
    return states;
}

static void judge_runs(struct ledger *ledger, const struct entry *entry, const struct pawl_job *job)
{
    int64_t newest = entry->base_run;
    for (int64_t run = 1; run < RUNS_MAX; run++) {
        uint64_t bit = UINT64_C(1) << run;
        if (!(entry->claimed & bit)) continue;
        newest = run;
        if (run > job->run) complain_of(ledger, entry, "an acknowledged claim is lost");
        if (run < job->run && !((entry->ended | entry->intended) & bit)) {
            complain_of(ledger, entry, "run again although nobody had ended its run");
        }
    }
    // one claim may have died before it could be noted; its owner cannot have ended it
    if (job->run > newest + 1) complain_of(ledger, entry, "was claimed by nobody we know");
    if (job->run < entry->base_run) complain_of(ledger, entry, "its run went back");
    if (entry->ended_run && pawl_state_is_terminal(entry->ended_to) &&
        job->run != entry->ended_run) {
        complain_of(ledger, entry, "ran again after its acknowledged end");
    }
}

static void judge_content(struct ledger *ledger, const struct entry *entry,
                          const struct pawl_job *job)
{
    char args[BATCH_ARGS_BYTES];
    size_t len = batch_args(entry->batch, entry->index, entry->count, args);
    if (job->args.len != len || memcmp(job->args.at, args, len) != 0) {
        complain_of(ledger, entry, "its arguments changed");
    }
    if (job->state != PAWL_STATE_COMPLETED) return;
    char result[32];
    int result_len = snprintf(result, sizeof result, "{\"run\":%" PRId64 "}", job->run);
    if (job->result.len != (size_t)result_len ||
        memcmp(job->result.at, result, (size_t)result_len) != 0) {
        complain_of(ledger, entry, "its result is not what its last run gave");
    }
}

static void judge_found(struct ledger *ledger, struct entry *entry, const struct pawl_job *job)
{
    char text[160];
    if (entry->refused) complain_of(ledger, entry, "is there although its submit was refused");
    if (!(states_allowed(entry, job->run) & PAWL_STATE_BIT(job->state))) {
        snprintf(text, sizeof text, "is %s at run %" PRId64 ", ended at %" PRId64 " as %s%s%s",
                 kit_state(job->state), job->run, entry->ended_run, kit_state(entry->ended_to),
                 entry->cancel_meant ? ", cancel meant" : "",
                 entry->cancelled ? ", cancel acknowledged" : "");
        complain_of(ledger, entry, text);
    }
    judge_runs(ledger, entry, job);
    judge_content(ledger, entry, job);
}

/* What the store has now is what the next round begins with. */
static void settle(struct entry *entry, const struct pawl_job *job)
{
    *entry = (struct entry){ .id = entry->id,
                             .batch = entry->batch,
                             .index = entry->index,
                             .count = entry->count,
                             .acknowledged = entry->acknowledged,
                             .refused = entry->refused,
                             .base_state = job ? job->state : PAWL_STATE_NONE,
                             .base_run = job ? job->run : 0,
                             .archived = job && job->archived };
}

static void judge_checkpoint(struct ledger *ledger, const struct entry *entry,
                             const struct pawl_job *job, struct pawl__store *store)
{
    if (!entry->checkpoint_sequence || job->state != PAWL_STATE_ACTIVE ||
        job->run != entry->checkpoint_run) {
        return;
    }
    struct pawl__arena arena = { 0 };
    struct pawl_story story = { 0 };
    struct pawl_diag diag = { 0 };
    if (pawl__store_story(store, entry->id, NULL, &arena, &story, &diag)) {
        complain_of(ledger, entry, diag.text);
    } else if (story.checkpoint_sequence < entry->checkpoint_sequence) {
        complain_of(ledger, entry, "an acknowledged checkpoint is lost");
    }
    pawl__arena_release(&arena);
}

static void judge_missing(struct ledger *ledger, struct entry *entry)
{
    if (entry->acknowledged || entry->base_state != PAWL_STATE_NONE) {
        complain_of(ledger, entry, "an acknowledged submit is lost");
    }
    if (entry->claimed || entry->ended || entry->cancelled) {
        complain_of(ledger, entry, "it was at work, and is not there");
    }
    settle(entry, NULL);
    entry->refused = true; // it must not turn up later
}

/* One group of touched entries, in the order of the ledger; found jobs come in that order too. */
static void judge_some(struct ledger *ledger, struct pawl__store *store, struct entry **entries,
                       size_t count)
{
    struct pawl_job_id ids[GET_MAX] = { 0 };
    for (size_t i = 0; i < count; i++) {
        ids[i] = entries[i]->id;
    }
    struct pawl__arena arena = { 0 };
    struct pawl_job *jobs = NULL;
    size_t found = 0, at = 0;
    struct pawl_diag diag = { 0 };
    enum pawl_err err = pawl__store_get(store, ids, count, &arena, &jobs, &found, &diag);
    if (err) kit_complain(&ledger->complaints, "get: %s: %s", pawl_err_name(err), diag.text);
    for (size_t i = 0; i < count && !err; i++) {
        if (at < found && kit_same_id(jobs[at].id, ids[i])) {
            judge_found(ledger, entries[i], &jobs[at]);
            judge_checkpoint(ledger, entries[i], &jobs[at], store);
            settle(entries[i], &jobs[at++]);
        } else {
            judge_missing(ledger, entries[i]);
        }
    }
    pawl__arena_release(&arena);
}

/* All jobs of a batch, or none. */
static void judge_batch(struct ledger *ledger, struct entry *entry)
{
    struct entry *first = ledger_find(ledger, batch_job(entry->batch, 0));
    if ((first->base_state == PAWL_STATE_NONE) != (entry->base_state == PAWL_STATE_NONE)) {
        complain_of(ledger, entry, "its batch was stored in part");
    }
}

/* ---- judging everything ---- */

struct tally {
    int64_t found;
    int64_t count[PAWL_STATE_END]; /* not archived */
    int64_t archived;
};

static void judge_page(struct ledger *ledger, const struct pawl_jobs *jobs, struct tally *tally)
{
    for (size_t i = 0; i < jobs->count; i++) {
        const struct pawl_job *job = &jobs->at[i];
        struct entry *entry = ledger_find(ledger, job->id);
        tally->found++;
        if (job->archived)
            tally->archived++;
        else
            tally->count[job->state]++;
        if (!entry) {
            kit_complain(&ledger->complaints, "a job is there that nobody submitted");
            continue;
        }
        judge_found(ledger, entry, job);
        settle(entry, job);
    }
}

static void judge_statistics(struct ledger *ledger, struct pawl__store *store,
                             const struct tally *tally)
{
    struct pawl__arena arena = { 0 };
    struct pawl_stats stats = { 0 };
    struct pawl_diag diag = { 0 };
    if (pawl__store_stats(store, &arena, &stats, &diag)) {
        kit_complain(&ledger->complaints, "statistics: %s", diag.text);
    }
    for (int state = 1; state < PAWL_STATE_END; state++) {
        if (stats.count[state] == tally->count[state]) continue;
        kit_complain(&ledger->complaints, "statistics say %" PRId64 " are %s, a scan %" PRId64,
                     stats.count[state], kit_state((enum pawl_state)state), tally->count[state]);
    }
    if (stats.archived != tally->archived) {
        kit_complain(&ledger->complaints,
                     "statistics say %" PRId64 " are archived, a scan %" PRId64, stats.archived,
                     tally->archived);
    }
    pawl__arena_release(&arena);
}

/* Every job that matches, page by page. */
static void judge_matches(struct ledger *ledger, struct pawl__store *store,
                          const struct pawl_filter *filter, struct tally *tally)
{
    char cursor[PAWL_CURSOR_BYTES] = "";
    do {
        struct pawl_jobs jobs = { 0 };
        struct pawl__arena arena = { 0 };
        struct pawl_diag diag = { 0 };
        struct pawl_page page = { .limit = PAWL_PAGE_MAX,
                                  .oldest_first = true,
                                  .cursor = *cursor ? cursor : NULL };
        enum pawl_err err = pawl__store_query(store, filter, &page, &arena, &jobs, &diag);
        if (err)
            kit_complain(&ledger->complaints, "query: %s: %s", pawl_err_name(err), diag.text);
        else
            judge_page(ledger, &jobs, tally);
        memcpy(cursor, err ? "" : jobs.next, err ? 1 : sizeof cursor);
        pawl__arena_release(&arena);
    } while (*cursor);
}

void ledger_judge(struct ledger *ledger, struct pawl__store *store)
{
    for (size_t at = 0; at < ledger->touched_count; at += GET_MAX) {
        size_t left = ledger->touched_count - at;
        judge_some(ledger, store, &ledger->touched[at], left < GET_MAX ? left : GET_MAX);
    }
    for (size_t i = 0; i < ledger->touched_count; i++) {
        judge_batch(ledger, ledger->touched[i]);
    }
    ledger->touched_count = 0;
    // a claim that died before it was noted has touched its jobs all the same
    struct tally tally = { 0 };
    judge_matches(ledger, store, &(struct pawl_filter){ .states = BIT(ACTIVE) }, &tally);
}

void ledger_judge_all(struct ledger *ledger, struct pawl__store *store)
{
    struct tally tally = { 0 };
    judge_matches(ledger, store, &(struct pawl_filter){ .archived = true }, &tally);
    int64_t expected = 0;
    for (size_t i = 0; i < ledger->slot_count; i++) {
        const struct entry *entry = ledger->slots[i];
        expected += entry && entry->base_state != PAWL_STATE_NONE;
    }
    if (tally.found != expected) {
        kit_complain(&ledger->complaints,
                     "a scan finds %" PRId64 " jobs, the ledger knows %" PRId64, tally.found,
                     expected);
    }
    judge_statistics(ledger, store, &tally);
}
