/* The public header is C++17 too: this compiles it, makes each struct, and calls through it. */
#include <pawl/pawl.h>

#include <cstdio>
#include <cstring>
#include <type_traits>

static_assert(std::is_trivially_copyable<pawl_job_id>::value, "ids travel by value");
static_assert(sizeof(pawl_job_id) == 16, "ids are 16 bytes");

static int number = 0;
static bool all_ok = true;

static void check(bool ok, const char *what)
{
    std::printf("%s %d - %s\n", ok ? "ok" : "not ok", ++number, what);
    all_ok = all_ok && ok;
}

static bool submit_and_count(pawl *desk)
{
    pawl_job_spec spec{};
    pawl_submitted submitted{};
    pawl_diag diag{};
    int64_t count = 0;
    spec.type = "mail.send";
    return pawl_submit(desk, &spec, &submitted, &diag) == PAWL_OK &&
           submitted.state == PAWL_STATE_AVAILABLE &&
           pawl_count(desk, nullptr, &count, &diag) == PAWL_OK && count == 1;
}

static bool look_and_release(pawl *desk)
{
    pawl_jobs jobs{};
    pawl_stats stats{};
    pawl_diag diag{};
    bool ok = pawl_query(desk, nullptr, nullptr, &jobs, &diag) == PAWL_OK && jobs.count == 1 &&
              pawl_stats_get(desk, &stats, &diag) == PAWL_OK && stats.queue_count == 1;
    pawl_jobs_release(&jobs);
    pawl_stats_release(&stats);
    return ok;
}

int main()
{
    pawl_config config{};
    pawl_diag diag{};
    pawl *desk = nullptr;
    std::printf("1..4\n");
    config.store = "sqlite::memory:";
    check(std::strcmp(pawl_err_name(PAWL_ERR_STALE), "STALE") == 0, "names link from C++");
    check(pawl_open(&config, &desk, &diag) == PAWL_OK, "a store opens from C++");
    check(desk && submit_and_count(desk), "a job is submitted from C++");
    check(desk && look_and_release(desk), "results are released from C++");
    pawl_close(desk);
    return all_ok ? 0 : 1;
}
