/* Keys: which jobs hold one, what a newcomer does about them, and which holders are remembered.
 *
 * The holders of a key are in memory once they are read, by id, and jobs of the same batch
 * are among them as soon as they came. */
#include "store/core/keys.h"

#include "store/backend.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

/* ---- keys by digest ---- */

/* A digest is random in its second half; in the first one those of firings are not. */
static uint32_t hash_digest(const uint8_t digest[16])
{
    uint32_t hash;
    memcpy(&hash, digest + 8, sizeof hash);
    return hash;
}

struct pawl__set_key *pawl__set_find_key(const struct pawl__set *set, const uint8_t digest[16])
{
    uint32_t hash = hash_digest(digest);
    size_t place;
    for (size_t at = hash; pawl__index_next(&set->by_digest, hash, &at, &place);) {
        if (memcmp(set->keys[place].digest, digest, 16) == 0) return &set->keys[place];
    }
    return NULL;
}

struct pawl__set_key *pawl__set_want_key(struct pawl__set *set, const uint8_t digest[16])
{
    struct pawl__set_key *key = pawl__set_find_key(set, digest);
    set->asks_keys = true;
    if (key) return key;
    struct pawl__set_key *keys = PAWL__SET_GROW(set, set->keys, set->key_cap, set->key_count);
    if (keys) set->keys = keys;
    if (!keys || !pawl__index_add(&set->by_digest, hash_digest(digest), set->key_count)) {
        set->failed = true;
        return NULL;
    }
    key = &keys[set->key_count++];
    *key = (struct pawl__set_key){ .read = false };
    memcpy(key->digest, digest, sizeof key->digest);
    set->unread_keys++;
    return key;
}

void pawl__set_want_holders(struct pawl__set *set)
{
    for (size_t i = set->key_count - set->unread_keys; i < set->key_count; i++) {
        const struct pawl__set_key *key = &set->keys[i];
        for (size_t k = 0; k < key->count; k++) {
            pawl__set_want(set, key->holders[k].id,
                           PAWL__NEED_RUN | PAWL__NEED_FACTS | PAWL__NEED_STAND);
        }
    }
}

void pawl__keys_clear(struct pawl__set *set)
{
    pawl__index_clear(&set->by_digest);
    set->key_count = set->unread_keys = 0;
}

void pawl__keys_release(struct pawl__set *set)
{
    free(set->keys);
    pawl__index_release(&set->by_digest);
}

bool pawl__key_is_held(const struct pawl__set *set, const struct pawl__set_key *key)
{
    bool held = key->held;
    for (size_t i = 0; !held && i < key->count; i++) {
        const struct pawl__row *row = pawl__set_find(set, key->holders[i].id);
        held = row && row->found == PAWL__FOUND_HELD;
    }
    return held;
}

/* ---- holders ---- */

static bool room_for_holder(struct pawl__set *set, struct pawl__set_key *key)
{
    if (key->count < key->cap) return true;
    size_t cap = key->cap ? key->cap * 2 : 4;
    struct pawl__key_holder *grown = pawl__arena_alloc(&set->arena, cap * sizeof *grown);
    if (!grown) set->failed = true;
    if (!grown) return false;
    if (key->count) memcpy(grown, key->holders, key->count * sizeof *grown);
    key->holders = grown;
    key->cap = cap;
    return true;
}

size_t pawl__key_place(const struct pawl__set_key *key, struct pawl_job_id id, bool *there)
{
    size_t low = 0, high = key->count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (memcmp(&key->holders[middle].id, &id, sizeof id) < 0) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    *there = low < key->count && memcmp(&key->holders[low].id, &id, sizeof id) == 0;
    return low;
}

void pawl__key_hold(struct pawl__set *set, struct pawl__set_key *key,
                    const struct pawl__key_holder *holder)
{
    if (!room_for_holder(set, key)) return;
    bool there;
    size_t at = pawl__key_place(key, holder->id, &there);
    memmove(&key->holders[at + 1], &key->holders[at], (key->count - at) * sizeof *holder);
    key->holders[at] = *holder;
    key->count++;
}

static void take(struct pawl__set *set, const uint8_t digest[16], struct pawl_job_id id,
                 int64_t until_ms)
{
    struct pawl__set_key *key = pawl__set_want_key(set, digest);
    if (!key) return;
    pawl__holder_save(set, key, id);
    bool there;
    size_t at = pawl__key_place(key, id, &there);
    if (!there) {
        pawl__key_hold(set, key,
                       &(struct pawl__key_holder){ .id = id, .until_ms = until_ms, .added = true });
        return;
    }
    struct pawl__key_holder *holder = &key->holders[at];
    bool same = !holder->removed && holder->until_ms == until_ms;
    holder->until_ms = until_ms;
    holder->added |= !same;
    holder->removed = false;
}

static struct pawl__holder holder_of(struct pawl__set *set, const struct pawl__key_holder *of)
{
    const struct pawl__row *row = pawl__set_find(set, of->id);
    bool known = row && row->found != PAWL__FOUND_ABSENT;
    return (struct pawl__holder){ .id = of->id,
                                  .until_ms = of->until_ms,
                                  .known = known,
                                  .state = known ? row->state : PAWL_STATE_NONE,
                                  .created_at_ms = known ? row->created_at_ms : 0 };
}

/* A walk over the holders of a key, newest first, for a newcomer. */
struct walk {
    const struct pawl__key *key;
    struct pawl__set_key *entry;
    size_t at, ended;
};

/* The next one that is in the newcomer's way; false: there is none. Of those that are not, the ones
 * that need not be remembered are forgotten. */
static bool next_conflict(struct pawl__set *set, struct walk *walk, struct pawl__holder *out)
{
    for (; walk->entry && walk->at < walk->entry->count; walk->at++) {
        struct pawl__key_holder *holder = &walk->entry->holders[walk->entry->count - 1 - walk->at];
        if (holder->removed) continue;
        *out = holder_of(set, holder);
        if (pawl__key_conflicts(walk->key, out, set->now_ms)) {
            walk->at++;
            return true;
        }
        if (!pawl__key_forgets(walk->key, out, &walk->ended)) continue;
        pawl__holder_save(set, walk->entry, holder->id);
        holder->removed = true;
    }
    return false;
}

/* Holders that are read later may have the job among them: it is absent by then. */
void pawl__set_drop_key(struct pawl__set *set, const uint8_t digest[16], struct pawl_job_id id)
{
    struct pawl__set_key *key = pawl__set_find_key(set, digest);
    bool there = false;
    size_t at = key ? pawl__key_place(key, id, &there) : 0;
    if (there) {
        pawl__holder_save(set, key, id);
        key->holders[at].removed = true;
    }
    if (key && key->read) return;
    pawl__set_put(set, PAWL__TABLE_KEY_DROP,
                  &(struct pawl__key_row){ .digest = { (const char *)digest, 16 }, .id = id });
}

/* ---- a new job ---- */

enum pawl_err pawl__key_replace(struct pawl__set *set, struct pawl__row *row)
{
    static const enum pawl_event cancel[] = { PAWL_EVENT_CANCEL };
    enum pawl_state from = row->state;
    enum pawl_err err =
        pawl__row_move(set, row, cancel, 1, &(struct pawl__target){ .reason = "replaced" });
    if (err) return err;
    if (from == PAWL_STATE_ACTIVE) pawl__set_control(set);
    pawl__set_put(set, PAWL__TABLE_AUDIT,
                  &(struct pawl__audit){ .at_ms = set->now_ms,
                                         .id = row->id,
                                         .action = "replace",
                                         .reason = "replaced by a job with the same key",
                                         .from = from,
                                         .to = row->state });
    return PAWL_OK;
}

/* The newcomer takes the holder's place. One that has ended cannot be cancelled, and need not be.
 */
static enum pawl_err replace(struct pawl__set *set, const struct pawl__key *key,
                             struct pawl_job_id id, struct pawl__answer *answer)
{
    struct pawl__row *row = pawl__set_find(set, id);
    if (!row || row->found != PAWL__FOUND_LIVE || pawl_state_is_terminal(row->state)) {
        return PAWL_OK;
    }
    answer->replaced = true;
    if (key->on_conflict == PAWL_CONFLICT_REPLACE_EXCEPT_SCHEDULE) {
        answer->due_at_ms = row->due_at_ms;
    }
    return pawl__key_replace(set, row);
}

static enum pawl_err meet(struct pawl__set *set, struct pawl__op *op, const struct pawl__key *key,
                          const struct pawl__holder *holder, struct pawl__answer *answer)
{
    switch (key->on_conflict) {
    case PAWL_CONFLICT_IGNORE:
        answer->stands_in = true;
        answer->id = holder->id;
        answer->state = holder->state;
        return PAWL_OK;
    case PAWL_CONFLICT_REPLACE:
    case PAWL_CONFLICT_REPLACE_EXCEPT_SCHEDULE:
        return replace(set, key, holder->id, answer);
    default:
        return pawl__key_refuse(op, key, holder);
    }
}

/* In order of kind: a repeat by idempotency key is a repeat whatever else it holds. */
enum pawl_err pawl__keys_ask(struct pawl__set *set, struct pawl__op *op,
                             const struct pawl__new_job *job, struct pawl__answer *answer)
{
    enum pawl_err err = PAWL_OK;
    for (size_t i = 0; i < job->key_count; i++) {
        const struct pawl__key *key = &job->keys[i];
        struct walk walk = { .key = key, .entry = pawl__set_want_key(set, key->digest) };
        struct pawl__holder holder;
        while (!err && !answer->stands_in && next_conflict(set, &walk, &holder)) {
            err = meet(set, op, key, &holder, answer);
        }
        if (err || answer->stands_in) break;
    }
    return err;
}

void pawl__keys_take(struct pawl__set *set, const struct pawl__new_job *job)
{
    for (size_t i = 0; i < job->key_count; i++) {
        const struct pawl__key *key = &job->keys[i];
        take(set, key->digest, job->id, pawl__key_until(key, set->now_ms));
    }
}

struct pawl_span pawl__keys_pack(struct pawl__set *set, const struct pawl__new_job *job)
{
    uint8_t records[PAWL__KEYS_MAX * PAWL__KEY_RECORD_BYTES];
    for (size_t i = 0; i < job->key_count; i++) {
        uint8_t *record = records + i * PAWL__KEY_RECORD_BYTES;
        record[0] = (uint8_t)job->keys[i].kind;
        memcpy(record + 1, job->keys[i].digest, 16);
    }
    size_t len = job->key_count * PAWL__KEY_RECORD_BYTES;
    return (struct pawl_span){ pawl__set_text(set, records, len), len };
}

/* ---- a job that comes back to life, or goes ---- */

/* Business and unique keys; an idempotency key is never let go while its time lasts. */
#define EACH_KEY(keys, record)                                                                     \
    for (size_t at_ = 0; at_ + PAWL__KEY_RECORD_BYTES <= (keys).len;                               \
         at_ += PAWL__KEY_RECORD_BYTES)                                                            \
        for (const uint8_t *record = (const uint8_t *)(keys).at + at_;                             \
             record && *record != PAWL__KEY_IDEMPOTENCY; record = NULL)

void pawl__keys_want(struct pawl__set *set, struct pawl_span keys)
{
    EACH_KEY(keys, record)
    {
        pawl__set_want_key(set, record + 1);
    }
}

enum pawl_err pawl__keys_ask_back(struct pawl__set *set, const struct pawl__row *row,
                                  struct pawl_diag *diag)
{
    EACH_KEY(row->keys, record)
    {
        if (*record != PAWL__KEY_BUSINESS) continue;
        struct pawl__key key = { .kind = PAWL__KEY_BUSINESS,
                                 .states = pawl__states_live,
                                 .on_conflict = PAWL_CONFLICT_REJECT };
        memcpy(key.digest, record + 1, sizeof key.digest);
        struct walk walk = { .key = &key, .entry = pawl__set_want_key(set, key.digest) };
        struct pawl__op ask = { .diag = diag };
        struct pawl__holder holder;
        if (next_conflict(set, &walk, &holder)) return pawl__key_refuse(&ask, &key, &holder);
    }
    return PAWL_OK;
}

void pawl__keys_take_back(struct pawl__set *set, const struct pawl__row *row)
{
    EACH_KEY(row->keys, record)
    {
        take(set, record + 1, row->id, 0);
    }
}
