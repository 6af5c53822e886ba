/* Wake-ups between processes that have the same store open: one tells that it has committed
 * something, the others hear it and look.
 *
 * 1. They only save time: whoever hears nothing finds the work by polling. So none is kept, none is
 *    answered, and what waits to be told is one notice into which the next is merged.
 * 2. Telling never blocks: it happens in the committer's way.
 * 3. Nobody hears himself.
 * 4. A listener that is slow holds up nobody but itself.
 * 5. When a line was down, whoever listens is woken once: something may have been missed.
 *
 * A store has a way of its own (the turnstile's file, LISTEN and NOTIFY, a question to the server);
 * pawl_config.wake chooses another. */
#ifndef PAWL_STORE_WAKE_H
#define PAWL_STORE_WAKE_H

#include "store/store.h"

struct pawl__wake;

struct pawl__wake_table {
    /* Tell other processes: ready and control are all that is looked at. Any thread; never blocks.
     */
    void (*send)(struct pawl__wake *wake, const struct pawl__notice *notice);
    /* Begin (fn) or end (NULL) to pass on what others tell, on a thread of its own; NULL waits for
     * a call under way. Returns when others are heard, or after a moment in which that could not
     * be brought about. NOMEM: no thread to be had. */
    enum pawl_err (*listen)(struct pawl__wake *wake, pawl__notice_fn *fn, void *ctx,
                            struct pawl_diag *diag);
    /* Any thread. */
    void (*state)(struct pawl__wake *wake, struct pawl__wake_state *out);
    /* Says what is left to be said, within a moment. Nobody hears any more. */
    void (*close)(struct pawl__wake *wake);
};

/* What every way begins with. NULL is a way too: nobody is told, nobody heard. */
struct pawl__wake {
    const struct pawl__wake_table *table;
};

/* ---- ways that are not a store's own: modules (module.c) ---- */

struct pawl__wake_open {
    const char *url;
    const char *store; /* a short name that only those who share the store give it */
};

struct pawl__wake_module {
    const char *version;
    size_t table_bytes;
    /* ARG: the URL, or what it gives as a password, will not do. Somebody who cannot be reached
     * now is no error: he may be later. */
    enum pawl_err (*open)(const struct pawl__wake_open *how, struct pawl__wake **out,
                          struct pawl_diag *diag);
};

extern __attribute__((visibility("default"))) const struct pawl__wake_module pawl_wake_module;

/* The module for a URL; `*out` NULL: there is none for its scheme. UNSUPPORTED: it, or what it
 * needs, is not there. A module that was loaded stays. */
enum pawl_err pawl__wake_module_find(const char *url, const struct pawl__wake_module **out,
                                     struct pawl_diag *diag);

#endif
