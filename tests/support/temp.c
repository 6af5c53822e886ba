/* Temporary directories. */
#include "support/rig.h"

#include <dirent.h>
#include <unistd.h>

void temp_dir_make(char *path, size_t size)
{
    const char *parent = getenv("TMPDIR");
    int len = snprintf(path, size, "%s/pawl-test-XXXXXX",
                       parent != NULL && parent[0] != '\0' ? parent : P_tmpdir);
    if (len < 0 || (size_t)len >= size || mkdtemp(path) == NULL) {
        perror("could not make a temporary directory");
        abort();
    }
}

void temp_dir_remove(const char *path)
{
    DIR *dir = opendir(path);
    if (dir == NULL) return;
    for (struct dirent *entry; (entry = readdir(dir)) != NULL;) {
        char file[RIG_URL_BYTES + 256];
        snprintf(file, sizeof file, "%s/%s", path, entry->d_name);
        unlink(file); // "." and ".." refuse by themselves
    }
    closedir(dir);
    rmdir(path);
}
