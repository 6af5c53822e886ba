/* Feeds the files and directories given as arguments to a fuzz target, once each: what the fuzzers
 * found stays found, with any compiler. Prints TAP, a line per file; the target aborts on failure.
 */
#include "fuzz.h"

#include <dirent.h>
#include <string.h>
#include <sys/stat.h>

enum { FILE_BYTES_MAX = 16 * 1024 * 1024 };

static int files; /* replayed so far */

static void die(const char *path, const char *what)
{
    printf("Bail out! could not %s \"%s\"\n", what, path);
    exit(1);
}

static void replay_file(const char *path, size_t size)
{
    if (size > FILE_BYTES_MAX) die(path, "take all of");
    uint8_t *data = malloc(size > 0 ? size : 1); // exact: a step beyond it is reported
    FILE *file = fopen(path, "rb");
    if (!data || !file || fread(data, 1, size, file) != size) die(path, "read");
    fclose(file);
    LLVMFuzzerTestOneInput(data, size);
    free(data);
    printf("ok %d - %s\n", ++files, path);
}

static void replay(const char *path);

static void replay_directory(const char *path)
{
    struct dirent **entries;
    int count = scandir(path, &entries, NULL, alphasort);
    if (count < 0) die(path, "list");
    for (int i = 0; i < count; i++) {
        char child[4096];
        snprintf(child, sizeof child, "%s/%s", path, entries[i]->d_name);
        if (entries[i]->d_name[0] != '.') replay(child);
        free(entries[i]);
    }
    free(entries);
}

static void replay(const char *path)
{
    struct stat stat_buf;
    if (stat(path, &stat_buf) != 0) die(path, "find");
    if (S_ISDIR(stat_buf.st_mode)) {
        replay_directory(path);
    } else {
        replay_file(path, (size_t)stat_buf.st_size);
    }
}

int main(int argc, char **argv)
{
    for (int i = 1; i < argc; i++) {
        replay(argv[i]);
    }
    printf("1..%d\n", files);
    return files > 0 ? 0 : 1; // an empty corpus proves nothing
}
