/* What a backend must do; store.c and committer.c do the rest, once for all of them.
 *
 * apply, reopen, note and told are called by one thread at a time, for each session. Reads may be
 * called from any thread at any time, also while apply runs. */
#ifndef PAWL_STORE_BACKEND_H
#define PAWL_STORE_BACKEND_H

#include "base/buf.h"
#include "store/store.h"

struct pawl__backend;
struct pawl__wake;

typedef void pawl__order_fn(void *ctx);

/* What backends declare their functions by; what each must do is said in the table. */
typedef enum pawl_err pawl__apply_fn(struct pawl__backend *backend, struct pawl__op **ops,
                                     size_t count, struct pawl_diag *diag);
typedef void pawl__note_fn(struct pawl__backend *backend, bool all_moves);
typedef bool pawl__get_notice_fn(struct pawl__backend *backend, struct pawl__notice *out);
typedef enum pawl_err pawl__wake_fn(struct pawl__backend *backend, const char *url,
                                    struct pawl__wake **out, struct pawl_diag *diag);
typedef enum pawl_err pawl__identify_fn(struct pawl__backend *backend, struct pawl__buf *out,
                                        struct pawl_diag *diag);
typedef enum pawl_err pawl__get_fn(struct pawl__backend *backend, const struct pawl_job_id *ids,
                                   size_t count, struct pawl__arena *arena, struct pawl_job **out,
                                   size_t *out_count, struct pawl_diag *diag);
typedef enum pawl_err pawl__query_fn(struct pawl__backend *backend,
                                     const struct pawl_filter *filter, const struct pawl_page *page,
                                     struct pawl__arena *arena, struct pawl_jobs *out,
                                     struct pawl_diag *diag);
typedef enum pawl_err pawl__count_fn(struct pawl__backend *backend,
                                     const struct pawl_filter *filter, int64_t *out,
                                     struct pawl_diag *diag);
typedef enum pawl_err pawl__story_fn(struct pawl__backend *backend, struct pawl_job_id id,
                                     const struct pawl_job *known, struct pawl__arena *arena,
                                     struct pawl_story *out, struct pawl_diag *diag);
typedef enum pawl_err pawl__stats_fn(struct pawl__backend *backend, struct pawl__arena *arena,
                                     struct pawl_stats *out, struct pawl_diag *diag);
typedef enum pawl_err pawl__nodes_fn(struct pawl__backend *backend, struct pawl__arena *arena,
                                     struct pawl_nodes *out, struct pawl_diag *diag);
typedef enum pawl_err pawl__locks_fn(struct pawl__backend *backend, struct pawl__arena *arena,
                                     struct pawl_locks *out, struct pawl_diag *diag);
typedef enum pawl_err pawl__setting_fn(struct pawl__backend *backend, const char *name,
                                       struct pawl__arena *arena, const char **out,
                                       struct pawl_diag *diag);
typedef enum pawl_err pawl__settings_fn(struct pawl__backend *backend, const char *prefix,
                                        struct pawl__arena *arena, struct pawl_settings *out,
                                        struct pawl_diag *diag);
typedef enum pawl_err pawl__tokens_fn(struct pawl__backend *backend, struct pawl__arena *arena,
                                      struct pawl_tokens *out, struct pawl_diag *diag);
typedef enum pawl_err pawl__schemas_fn(struct pawl__backend *backend,
                                       const struct pawl_args_schema_filter *filter,
                                       struct pawl__arena *arena, struct pawl_args_schemas *out,
                                       struct pawl_diag *diag);
typedef enum pawl_err pawl__configs_fn(struct pawl__backend *backend, const char *queue,
                                       struct pawl__arena *arena, struct pawl_queue_configs *out,
                                       struct pawl_diag *diag);
typedef enum pawl_err pawl__flows_fn(struct pawl__backend *backend,
                                     const struct pawl__flow_ask *ask, struct pawl__arena *arena,
                                     struct pawl__flow_rows *out, struct pawl_diag *diag);
typedef enum pawl_err pawl__schedules_fn(struct pawl__backend *backend,
                                         const struct pawl__schedule_ask *ask,
                                         struct pawl__arena *arena, struct pawl__schedule_rows *out,
                                         struct pawl_diag *diag);
typedef enum pawl_err pawl__backup_fn(struct pawl__backend *backend, const char *path,
                                      pawl_progress_fn *progress, void *ctx,
                                      struct pawl_diag *diag);
typedef enum pawl_err pawl__check_fn(struct pawl__backend *backend, pawl_finding_fn *report,
                                     void *ctx, struct pawl_diag *diag);

struct pawl__backend_table {
    const char *scheme; /* what a URL begins with: "sqlite:" */
    const char *name;   /* "sqlite" */

    enum pawl_err (*open)(const struct pawl_config *config, struct pawl__backend **out,
                          struct pawl_diag *diag);
    void (*close)(struct pawl__backend *backend);

    /* All `count` operations in one transaction, in order. Sets each op's err, its diag and its
     * results. An error returned here means that none of them happened. */
    pawl__apply_fn *apply;
    /* After a failed transaction that leaves the storage in doubt: let go of everything, open it
     * again and look whether it is sound. */
    enum pawl_err (*reopen)(struct pawl__backend *backend, struct pawl_diag *diag);
    /* Only where several transactions can be under way at once: how many, PAWL__SESSIONS_MAX at
     * most (0: one); one more session, for apply, note and told alone, closed by `close` before the
     * backend that it was made from is; and what each is to call before every COMMIT, when all
     * that it moves is in its hands. */
    size_t session_max;
    enum pawl_err (*join)(struct pawl__backend *backend, struct pawl__backend **out,
                          struct pawl_diag *diag);
    void (*order)(struct pawl__backend *session, pawl__order_fn *fn, void *ctx);
    /* What the next transaction is to note: every move, or only interference with what runs. */
    pawl__note_fn *note;
    /* What the newest transaction has to tell; valid until the next. False: nothing. */
    pawl__get_notice_fn *get_notice;
    /* The store's own way to wake other processes that have it open, closed before the store is;
     * `*out` NULL: there can be none. `url`: through another server of the same kind and not
     * through the store's own; NULL where stores are not on a server. */
    pawl__wake_fn *wake;
    /* What all who have this store open agree upon, and others do not; for a way that several
     * stores share. NULL: it takes no other way than its own. UNSUPPORTED: there are no others. */
    pawl__identify_fn *identify;

    pawl__get_fn *get;
    pawl__query_fn *query;
    pawl__count_fn *count;
    pawl__story_fn *story;
    pawl__stats_fn *stats;
    pawl__nodes_fn *nodes;
    pawl__locks_fn *locks;
    pawl__setting_fn *setting;
    pawl__settings_fn *settings;
    pawl__tokens_fn *tokens;
    pawl__schemas_fn *schemas;
    pawl__configs_fn *configs;
    pawl__flows_fn *flows;
    pawl__schedules_fn *schedules;
    pawl__backup_fn *backup;
    pawl__check_fn *check;
    enum pawl_err (*schema)(const struct pawl_config *config, struct pawl_schema *out,
                            struct pawl_diag *diag);
};

extern const struct pawl__backend_table pawl__backend_sqlite;
/* Those that need no module, up to NULL (backends.c). */
extern const struct pawl__backend_table *const pawl__backends[];

/* A backend that needs a library of its own is a module: a shared object that exports this one
 * symbol, loaded when a URL asks for it (module.c). It is built together with the library and says
 * so by the first three. `open` and `schema` get a config without a clock when it would be the
 * system's: a store that is shared by machines has a better one. */
struct pawl__store_module {
    const char *version;
    size_t op_bytes, table_bytes;
    const struct pawl__backend_table *table;
};

#define PAWL__STORE_MODULE(its_table)                                                              \
    {                                                                                              \
        .version = PAWL_VERSION, .op_bytes = sizeof(struct pawl__op),                              \
        .table_bytes = sizeof(struct pawl__backend_table), .table = (its_table)                    \
    }

extern __attribute__((visibility("default"))) const struct pawl__store_module pawl_store_module;

/* The backend for a URL whose scheme is a module's; `*out` NULL: it is not. UNSUPPORTED: the
 * module, or what it needs, is not there. A module that was loaded stays. */
enum pawl_err pawl__store_module_find(const char *url, const struct pawl__backend_table **out,
                                      struct pawl_diag *diag);

#endif
