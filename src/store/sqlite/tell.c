/* What a commit has to tell: to this process, and to others that have the file open.
 *
 * Others are told by a few bytes written into the turnstile's file, on which each of them keeps a
 * watch (inotify). Each process writes a place of its own, so that nobody wakes himself and hardly
 * ever hides another. A notice that is lost costs time, nothing else.
 *
 * Runs on: the committer's thread; hearing on a thread of its own. */
#include "store/sqlite/sqlite.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/inotify.h>
#include <unistd.h>

enum { MOVES_MAX = 65536 };

enum { POSTS = 256 };

/* The turnstile's file is an array of these, one for each process that tells. */
struct post {
    uint64_t tag;
    uint64_t tells;
};

void pawl__sq_tale_begin(struct pawl__backend *sq)
{
    struct pawl__sq_tale *tale = &sq->tale;
    tale->ready = tale->control = false;
    tale->due_at_ms = 0;
    tale->move_count = 0;
    tale->lost = 0;
}

void pawl__sq_tale_release(struct pawl__sq_tale *tale)
{
    free(tale->moves);
    free(tale->named);
    memset(tale, 0, sizeof *tale);
}

void pawl__sq_tale_due(struct pawl__backend *sq, int64_t due_at_ms)
{
    struct pawl__sq_tale *tale = &sq->tale;
    if (!tale->due_at_ms || due_at_ms < tale->due_at_ms) tale->due_at_ms = due_at_ms;
}

static bool room_for_move(struct pawl__sq_tale *tale)
{
    if (tale->move_count < tale->move_cap) return true;
    size_t cap = tale->move_cap ? tale->move_cap * 2 : 256;
    if (cap > MOVES_MAX) return false;
    struct pawl__sq_move *grown = realloc(tale->moves, cap * sizeof *grown);
    if (!grown) return false;
    tale->moves = grown;
    tale->move_cap = cap;
    return true;
}

void pawl__sq_tale_move(struct pawl__backend *sq, struct pawl__sq_lane *lane, struct pawl_job_id id,
                        int64_t run, enum pawl_state from, enum pawl_state to)
{
    struct pawl__sq_tale *tale = &sq->tale;
    if (!room_for_move(tale)) {
        tale->lost++;
        return;
    }
    tale->moves[tale->move_count++] =
        (struct pawl__sq_move){ .id = id,
                                .run = run,
                                .lane = (uint32_t)(lane - sq->lanes.lanes),
                                .from = (uint8_t)(from == PAWL__SQ_OUTSIDE ? 0 : from),
                                .to = (uint8_t)to };
}

void pawl__sq_tale_control(struct pawl__backend *sq, const struct pawl__sq_place *place,
                           enum pawl_state from)
{
    sq->tale.control = true;
    if (sq->tale.all_moves) return; // noted already
    pawl__sq_tale_move(sq, place->lane, place->id, place->run, from, place->state);
}

static bool name_moves(struct pawl__backend *sq)
{
    struct pawl__sq_tale *tale = &sq->tale;
    if (tale->move_count > tale->named_cap) {
        struct pawl__move *grown = realloc(tale->named, tale->move_cap * sizeof *grown);
        if (!grown) return false;
        tale->named = grown;
        tale->named_cap = tale->move_cap;
    }
    for (size_t i = 0; i < tale->move_count; i++) {
        const struct pawl__sq_move *move = &tale->moves[i];
        const struct pawl__sq_lane *lane = &sq->lanes.lanes[move->lane];
        tale->named[i] = (struct pawl__move){ .id = move->id,
                                              .run = move->run,
                                              .from = (enum pawl_state)move->from,
                                              .to = (enum pawl_state)move->to,
                                              .queue = sq->lanes.queues[lane->queue].name,
                                              .type = lane->type };
    }
    return true;
}

void pawl__sq_note(struct pawl__backend *sq, bool all_moves)
{
    sq->tale.all_moves = all_moves;
}

bool pawl__sq_told(struct pawl__backend *sq, struct pawl__notice *out)
{
    struct pawl__sq_tale *tale = &sq->tale;
    if (!name_moves(sq)) {
        tale->lost += (int64_t)tale->move_count;
        tale->move_count = 0;
    }
    *out = (struct pawl__notice){ .ready = tale->ready,
                                  .control = tale->control,
                                  .due_at_ms = tale->due_at_ms,
                                  .at_ms = sq->now_ms,
                                  .moves = tale->named,
                                  .move_count = tale->move_count,
                                  .lost = tale->lost };
    return out->ready || out->control || out->due_at_ms || out->move_count || out->lost;
}

void pawl__sq_tell(struct pawl__backend *sq, const struct pawl__notice *notice)
{
    if (sq->turnstile < 0) return;
    (void)notice; // others look for themselves
    struct post post = { .tag = sq->tag, .tells = ++sq->tells };
    (void)!pwrite(sq->turnstile, &post, sizeof post, (off_t)(sq->tag % POSTS * sizeof post));
}

/* Has anybody else posted since? `seen` is what was there before. */
static bool is_news(struct pawl__backend *sq, struct post seen[POSTS])
{
    struct post posts[POSTS] = { { 0 } };
    ssize_t got = pread(sq->turnstile, posts, sizeof posts, 0);
    bool news = got < 0; // when in doubt, look
    for (size_t i = 0; i < POSTS; i++) {
        bool own = posts[i].tag == sq->tag;
        news |= !own && memcmp(&posts[i], &seen[i], sizeof seen[i]) != 0;
        seen[i] = posts[i];
    }
    return news;
}

static void *hear_others(void *arg)
{
    struct pawl__backend *sq = arg;
    char events[4096] __attribute__((aligned(8)));
    struct post seen[POSTS] = { { 0 } };
    int watch = inotify_init1(IN_CLOEXEC | IN_NONBLOCK);
    char name[4096];
    snprintf(name, sizeof name, "/proc/self/fd/%d", sq->turnstile);
    if (watch >= 0 && inotify_add_watch(watch, name, IN_MODIFY) < 0) {
        close(watch);
        watch = -1; // the safety poll will do
    }
    (void)is_news(sq, seen);
    struct pollfd fds[] = { { .fd = sq->ear_stop, .events = POLLIN },
                            { .fd = watch, .events = POLLIN } };
    while (poll(fds, 2, -1) >= 0 || errno == EINTR) {
        if (fds[0].revents) break;
        if (fds[1].revents & POLLIN) {
            while (read(watch, events, sizeof events) > 0) { // however many, they mean one thing
            }
            if (is_news(sq, seen)) {
                struct pawl__notice notice = { .foreign = true, .ready = true, .control = true };
                sq->heard(sq->heard_ctx, &notice);
            }
        }
    }
    if (watch >= 0) close(watch);
    return NULL;
}

static void end_hearing(struct pawl__backend *sq)
{
    if (!sq->ear_runs) return;
    uint64_t one = 1;
    (void)!write(sq->ear_stop, &one, sizeof one);
    pthread_join(sq->ear, NULL);
    close(sq->ear_stop);
    sq->ear_runs = false;
}

enum pawl_err pawl__sq_hear(struct pawl__backend *sq, pawl__notice_fn *fn, void *ctx,
                            struct pawl_diag *diag)
{
    end_hearing(sq);
    if (!fn || sq->turnstile < 0) return PAWL_OK;
    sq->heard = fn;
    sq->heard_ctx = ctx;
    sq->ear_stop = eventfd(0, EFD_CLOEXEC);
    if (sq->ear_stop < 0) {
        return pawl__fail(diag, PAWL_ERR_IO, "could not listen for other processes: %s",
                          strerror(errno));
    }
    if (!pawl__thread_start(&sq->ear, hear_others, sq)) {
        close(sq->ear_stop);
        return pawl__fail(diag, PAWL_ERR_NOMEM, "could not start a thread");
    }
    sq->ear_runs = true;
    return PAWL_OK;
}
