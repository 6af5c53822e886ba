/* pawl __known: names for completion, one on each line. It runs at each press of the tab key, so it
 * reads a limited number of jobs for a limited time; after an error there are fewer suggestions.
 *
 * Shells expand the words, and the server need not be trusted, so names with characters that are
 * special in a shell are not printed. */
#include "cli/cli.h"

#include <pawl/cron.h>

#include <signal.h>
#include <unistd.h>

enum { JOBS_MAX = 100, SECONDS_MAX = 3 };

static void put_name(struct pawl__cli *cli, const char *name)
{
    static const char plain[] =
        "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-@";
    size_t len = strlen(name);
    if (len && strspn(name, plain) == len) pawl__buf_printf(&cli->out, "%s\n", name);
}

static void put_queues(struct pawl__cli *cli)
{
    struct pawl_stats stats = { 0 };
    if (!pawl_stats_get(cli->pawl, &stats, NULL)) {
        for (size_t i = 0; i < stats.queue_count; i++) {
            put_name(cli, stats.queues[i].queue);
        }
    }
    pawl_stats_release(&stats);
}

/* The newest jobs. */
static void put_jobs(struct pawl__cli *cli,
                     void (*put)(struct pawl__cli *, const struct pawl_jobs *))
{
    struct pawl_jobs jobs = { 0 };
    struct pawl_filter filter = { 0 };
    struct pawl_page page = { .limit = JOBS_MAX, .brief = true };
    if (!pawl_query(cli->pawl, &filter, &page, &jobs, NULL)) put(cli, &jobs);
    pawl_jobs_release(&jobs);
}

static void put_job_ids(struct pawl__cli *cli, const struct pawl_jobs *jobs)
{
    for (size_t i = 0; i < jobs->count; i++) {
        char id[PAWL_JOB_ID_TEXT_BYTES];
        pawl_job_id_text(jobs->at[i].id, id);
        put_name(cli, id);
    }
}

static void put_job_types(struct pawl__cli *cli, const struct pawl_jobs *jobs)
{
    for (size_t i = 0; i < jobs->count; i++) {
        size_t first = 0;
        while (strcmp(jobs->at[first].type, jobs->at[i].type) != 0) {
            first++;
        }
        if (first == i) put_name(cli, jobs->at[i].type);
    }
}

static void put_ids(struct pawl__cli *cli)
{
    put_jobs(cli, put_job_ids);
}

static void put_types(struct pawl__cli *cli)
{
    put_jobs(cli, put_job_types);
}

static void put_schedules(struct pawl__cli *cli)
{
    struct pawl_schedules schedules = { 0 };
    const struct pawl_schedule_filter filter = { .limit = PAWL_PAGE_MAX };
    if (!pawl_schedules_get(cli->pawl, &filter, &schedules, NULL)) {
        for (size_t i = 0; i < schedules.count; i++) {
            put_name(cli, schedules.at[i].spec.name);
        }
    }
    pawl_schedules_release(&schedules);
}

static void give_up(int signal_number)
{
    (void)signal_number;
    _exit(PAWL__CLI_EXIT_STORE);
}

int pawl__cli_known(struct pawl__cli *cli)
{
    static const struct {
        const char *what;
        void (*put)(struct pawl__cli *cli);
    } kinds[] = { { "ids", put_ids },
                  { "queues", put_queues },
                  { "types", put_types },
                  { "schedules", put_schedules } };
    struct sigaction action = { .sa_handler = give_up };
    sigemptyset(&action.sa_mask);
    sigaction(SIGALRM, &action, NULL);
    alarm(SECONDS_MAX);
    for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++) {
        if (strcmp(cli->operands.at[0], kinds[i].what) != 0) continue;
        int code = pawl__cli_open(cli);
        if (!code) kinds[i].put(cli);
        return code;
    }
    return pawl__cli_usage("cannot list \"%s\", only ids, queues, types and schedules",
                           cli->operands.at[0]);
}
