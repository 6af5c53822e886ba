/* pawl_bench: what is measured on SQLite, and where its files are. */
#include "bench.h"

#include <unistd.h>

#define X(name, text) { #name, text, pawl__bench_##name },
static const struct pawl__measurement list[] = { PAWL__BENCHES(X) };
#undef X

const struct pawl__program pawl__program = {
    .about = "Measure store and node against the floor of this machine. Takes a few minutes.",
    .json = "bench.json",
    .list = list,
    .count = sizeof list / sizeof *list,
};

struct pawl__url pawl__bench_url(const struct pawl__bench *bench, const char *name)
{
    struct pawl__url url;
    char path[PAWL__BENCH_PATH_BYTES];
    pawl__bench_path(bench, name, path);
    snprintf(url.text, sizeof url.text, "sqlite:%s", path);
    return url;
}

void pawl__bench_forget(const struct pawl__bench *bench, const char *name)
{
    static const char *const suffixes[] = { "", "-wal", "-shm" };
    char path[PAWL__BENCH_PATH_BYTES], file[PAWL__BENCH_PATH_BYTES + 8];
    pawl__bench_path(bench, name, path);
    for (size_t i = 0; i < sizeof suffixes / sizeof *suffixes; i++) {
        snprintf(file, sizeof file, "%s%s", path, suffixes[i]);
        unlink(file);
    }
}

void pawl__bench_forget_all(const struct pawl__bench *bench)
{
    pawl__bench_remove_files();
}
