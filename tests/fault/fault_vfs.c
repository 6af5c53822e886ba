#include "fault/fault_vfs.h"

#include "base/rng.h"

#include <assert.h>
#include <fcntl.h>
#include <pthread.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { DISKS_MAX = 16, PATH_BYTES = 512 };

#define X(name, text) text,
static const char *const fault_names[FAULT_END] = { FAULTS(X) };
#undef X

const char *fault_name(enum fault fault)
{
    return fault_names[fault];
}

/* A write or truncation that was not synced yet. */
struct change {
    struct change *next;
    bool truncation;
    sqlite3_int64 at; /* or the new size */
    int len;
    unsigned char bytes[];
};

/* What the disk holds of a file, and what is on its way there. */
struct disk {
    char path[PATH_BYTES]; /* "": free */
    unsigned char *image;
    sqlite3_int64 size, room;
    struct change *first, **last;
};

struct shim_file {
    sqlite3_file base;
    struct disk *disk; /* NULL: a temporary file */
    bool wal;
    sqlite3_file *real; /* behind this struct */
};

static struct {
    pthread_mutex_t mutex;
    struct fault_plan plan;
    int64_t seen;
    bool fired;
    bool dead;
    bool careless;
    struct disk disks[DISKS_MAX];
} world = { .mutex = PTHREAD_MUTEX_INITIALIZER };

static sqlite3_vfs *real_vfs;

/* ---- the plan ---- */

/* Does this call fail? With the mutex held. */
static bool strikes(enum fault fault)
{
    if (world.plan.fault != fault) return false;
    world.seen++;
    bool hit = world.seen >= world.plan.nth &&
               (!world.plan.count || world.seen < world.plan.nth + world.plan.count);
    if (hit) world.fired = true;
    return hit;
}

static bool power_fails(void)
{
    if (!world.dead && strikes(FAULT_POWER)) world.dead = true;
    return world.dead;
}

static bool strikes_locked(enum fault fault)
{
    pthread_mutex_lock(&world.mutex);
    bool hit = world.dead || strikes(fault);
    pthread_mutex_unlock(&world.mutex);
    return hit;
}

void fault_arm(struct fault_plan plan)
{
    pthread_mutex_lock(&world.mutex);
    world.plan = plan;
    world.seen = 0;
    world.fired = false;
    pthread_mutex_unlock(&world.mutex);
}

bool fault_fired(void)
{
    pthread_mutex_lock(&world.mutex);
    bool fired = world.fired;
    pthread_mutex_unlock(&world.mutex);
    return fired;
}

void fault_cut_power(void)
{
    pthread_mutex_lock(&world.mutex);
    world.dead = true;
    pthread_mutex_unlock(&world.mutex);
}

void fault_set_careful(bool careful)
{
    pthread_mutex_lock(&world.mutex);
    world.careless = !careful;
    pthread_mutex_unlock(&world.mutex);
}

/* ---- disks; all with the mutex held ---- */

static void *must(void *memory)
{
    assert(memory); // the test itself is out of memory
    return memory;
}

static void disk_size(struct disk *disk, sqlite3_int64 size)
{
    if (size > disk->room || !disk->image) {
        disk->room = size * 2 + 4096;
        disk->image = must(realloc(disk->image, (size_t)disk->room));
    }
    if (size > disk->size) memset(disk->image + disk->size, 0, (size_t)(size - disk->size));
    disk->size = size;
}

static void disk_apply(struct disk *disk, const struct change *change)
{
    if (change->truncation) {
        disk_size(disk, change->at);
        return;
    }
    if (change->at + change->len > disk->size) disk_size(disk, change->at + change->len);
    memcpy(disk->image + change->at, change->bytes, (size_t)change->len);
}

static void disk_drop_changes(struct disk *disk)
{
    while (disk->first) {
        struct change *change = disk->first;
        disk->first = change->next;
        free(change);
    }
    disk->last = &disk->first;
}

static void disk_sync(struct disk *disk)
{
    for (const struct change *change = disk->first; change; change = change->next) {
        disk_apply(disk, change);
    }
    disk_drop_changes(disk);
}

static void disk_forget(struct disk *disk)
{
    disk_drop_changes(disk);
    free(disk->image);
    *disk = (struct disk){ 0 };
}

static void disk_note(struct disk *disk, bool truncation, sqlite3_int64 at, const void *bytes,
                      int len)
{
    if (!disk) return;
    struct change *change = must(malloc(sizeof *change + (size_t)len));
    *change = (struct change){ .truncation = truncation, .at = at, .len = len };
    if (len) memcpy(change->bytes, bytes, (size_t)len);
    *disk->last = change;
    disk->last = &change->next;
}

/* A file that is seen for the first time is on disk as it is. Nobody in this process has it open
 * yet: closing it here would take their locks away. */
static void disk_load(struct disk *disk, const char *path)
{
    snprintf(disk->path, sizeof disk->path, "%s", path);
    disk->last = &disk->first;
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    off_t size = fd < 0 ? 0 : lseek(fd, 0, SEEK_END);
    disk_size(disk, size > 0 ? size : 0);
    if (size > 0) {
        ssize_t got = pread(fd, disk->image, (size_t)size, 0);
        assert(got == size);
    }
    if (fd >= 0) close(fd);
}

static struct disk *disk_of(const char *path)
{
    struct disk *free_one = NULL;
    for (size_t i = 0; i < DISKS_MAX; i++) {
        if (strcmp(world.disks[i].path, path) == 0) return &world.disks[i];
        if (!world.disks[i].path[0]) free_one = &world.disks[i];
    }
    assert(free_one);
    disk_load(free_one, path);
    return free_one;
}

void fault_settle(void)
{
    pthread_mutex_lock(&world.mutex);
    for (size_t i = 0; i < DISKS_MAX; i++) {
        if (world.disks[i].path[0]) disk_forget(&world.disks[i]);
    }
    pthread_mutex_unlock(&world.mutex);
}

/* A sector arrives or not, whatever became of its neighbours. */
static void disk_apply_some(struct disk *disk, const struct change *change, struct pawl__rng *rng)
{
    enum { SECTOR = 512 };
    if (change->truncation || change->len <= SECTOR) {
        if (pawl__rng_below(rng, 2)) disk_apply(disk, change);
        return;
    }
    for (int at = 0; at < change->len; at += SECTOR) {
        if (!pawl__rng_below(rng, 2)) continue;
        int len = change->len - at < SECTOR ? change->len - at : SECTOR;
        sqlite3_int64 end = change->at + at + len;
        if (end > disk->size) disk_size(disk, end);
        memcpy(disk->image + change->at + at, change->bytes + at, (size_t)len);
    }
}

static void disk_restore(struct disk *disk, struct pawl__rng *rng)
{
    for (const struct change *change = disk->first; rng && change; change = change->next) {
        disk_apply_some(disk, change, rng);
    }
    int fd = open(disk->path, O_WRONLY | O_TRUNC | O_CLOEXEC);
    if (fd >= 0) {
        ssize_t put = pwrite(fd, disk->image, (size_t)disk->size, 0);
        assert(put == disk->size);
        close(fd);
    }
    disk_forget(disk);
}

void fault_restore(uint64_t seed)
{
    struct pawl__rng rng;
    pawl__rng_seed(&rng, seed);
    pthread_mutex_lock(&world.mutex);
    for (size_t i = 0; i < DISKS_MAX; i++) {
        if (world.disks[i].path[0]) disk_restore(&world.disks[i], seed ? &rng : NULL);
    }
    world.dead = false;
    world.plan = (struct fault_plan){ 0 };
    pthread_mutex_unlock(&world.mutex);
}

/* ---- files ---- */

static struct shim_file *of(sqlite3_file *file)
{
    return (struct shim_file *)file;
}

static int shim_close(sqlite3_file *file)
{
    sqlite3_file *real = of(file)->real;
    return real->pMethods ? real->pMethods->xClose(real) : SQLITE_OK;
}

static int shim_read(sqlite3_file *file, void *out, int len, sqlite3_int64 at)
{
    sqlite3_file *real = of(file)->real;
    if (strikes_locked(FAULT_READ)) return SQLITE_IOERR_READ;
    int rc = real->pMethods->xRead(real, out, len, at);
    // a database file's short read is zeroes to SQLite, as in a file that is still growing
    if (rc == SQLITE_OK && of(file)->wal && strikes_locked(FAULT_READ_SHORT)) {
        memset((char *)out + len / 2, 0, (size_t)(len - len / 2));
        return SQLITE_IOERR_SHORT_READ;
    }
    return rc;
}

/* What a write comes to, with the mutex held; *len becomes what arrives of it. */
static int judge_write(int *len)
{
    if (power_fails()) {
        *len = 0;
        return SQLITE_IOERR_WRITE;
    }
    if (strikes(FAULT_WRITE_TORN)) {
        *len /= 2;
        return SQLITE_IOERR_WRITE;
    }
    int rc = strikes(FAULT_WRITE)            ? SQLITE_IOERR_WRITE
             : strikes(FAULT_WRITE_FULL)     ? SQLITE_FULL
             : strikes(FAULT_WRITE_READONLY) ? SQLITE_READONLY
                                             : SQLITE_OK;
    if (rc) *len = 0;
    return rc;
}

static int shim_write(sqlite3_file *file, const void *bytes, int len, sqlite3_int64 at)
{
    sqlite3_file *real = of(file)->real;
    pthread_mutex_lock(&world.mutex);
    int rc = judge_write(&len);
    int done = len ? real->pMethods->xWrite(real, bytes, len, at) : SQLITE_OK;
    if (len && done == SQLITE_OK) disk_note(of(file)->disk, false, at, bytes, len);
    pthread_mutex_unlock(&world.mutex);
    return rc ? rc : done;
}

static int shim_truncate(sqlite3_file *file, sqlite3_int64 size)
{
    sqlite3_file *real = of(file)->real;
    pthread_mutex_lock(&world.mutex);
    int rc = power_fails() || strikes(FAULT_TRUNCATE) ? SQLITE_IOERR_TRUNCATE : SQLITE_OK;
    if (!rc) rc = real->pMethods->xTruncate(real, size);
    if (!rc) disk_note(of(file)->disk, true, size, NULL, 0);
    pthread_mutex_unlock(&world.mutex);
    return rc;
}

static int shim_sync(sqlite3_file *file, int flags)
{
    struct disk *disk = of(file)->disk;
    pthread_mutex_lock(&world.mutex);
    bool dead = power_fails();
    bool failed = !dead && strikes(FAULT_SYNC);
    if (disk && failed) disk_drop_changes(disk);
    if (disk && !failed && !dead) disk_sync(disk);
    pthread_mutex_unlock(&world.mutex);
    return dead || failed ? SQLITE_IOERR_FSYNC : SQLITE_OK;
}

static int shim_size(sqlite3_file *file, sqlite3_int64 *out)
{
    sqlite3_file *real = of(file)->real;
    if (strikes_locked(FAULT_SIZE)) return SQLITE_IOERR_FSTAT;
    return real->pMethods->xFileSize(real, out);
}

static int shim_lock(sqlite3_file *file, int lock)
{
    sqlite3_file *real = of(file)->real;
    if (strikes_locked(FAULT_LOCK)) return SQLITE_IOERR_LOCK;
    return real->pMethods->xLock(real, lock);
}

static int shim_unlock(sqlite3_file *file, int lock)
{
    sqlite3_file *real = of(file)->real;
    return real->pMethods->xUnlock(real, lock);
}

static int shim_check_reserved(sqlite3_file *file, int *out)
{
    sqlite3_file *real = of(file)->real;
    return real->pMethods->xCheckReservedLock(real, out);
}

static int shim_control(sqlite3_file *file, int op, void *arg)
{
    sqlite3_file *real = of(file)->real;
    // a size hint would lengthen the file behind our back
    if (op == SQLITE_FCNTL_SIZE_HINT || op == SQLITE_FCNTL_CHUNK_SIZE) return SQLITE_OK;
    return real->pMethods->xFileControl(real, op, arg);
}

static int shim_sector_size(sqlite3_file *file)
{
    sqlite3_file *real = of(file)->real;
    return real->pMethods->xSectorSize(real);
}

static int shim_characteristics(sqlite3_file *file)
{
    pthread_mutex_lock(&world.mutex);
    int promises = world.careless ? 0 : SQLITE_IOCAP_POWERSAFE_OVERWRITE;
    pthread_mutex_unlock(&world.mutex);
    return promises;
}

static int shim_shm_map(sqlite3_file *file, int region, int size, int extend, void volatile **out)
{
    sqlite3_file *real = of(file)->real;
    if (strikes_locked(FAULT_SHM)) return SQLITE_IOERR_SHMMAP;
    return real->pMethods->xShmMap(real, region, size, extend, out);
}

static int shim_shm_lock(sqlite3_file *file, int offset, int count, int flags)
{
    sqlite3_file *real = of(file)->real;
    return real->pMethods->xShmLock(real, offset, count, flags);
}

static void shim_shm_barrier(sqlite3_file *file)
{
    sqlite3_file *real = of(file)->real;
    real->pMethods->xShmBarrier(real);
}

static int shim_shm_unmap(sqlite3_file *file, int remove)
{
    sqlite3_file *real = of(file)->real;
    return real->pMethods->xShmUnmap(real, remove);
}

/* Version 2: no memory-mapped reading, which would pass us by. */
static const sqlite3_io_methods shim_methods = {
    .iVersion = 2,
    .xClose = shim_close,
    .xRead = shim_read,
    .xWrite = shim_write,
    .xTruncate = shim_truncate,
    .xSync = shim_sync,
    .xFileSize = shim_size,
    .xLock = shim_lock,
    .xUnlock = shim_unlock,
    .xCheckReservedLock = shim_check_reserved,
    .xFileControl = shim_control,
    .xSectorSize = shim_sector_size,
    .xDeviceCharacteristics = shim_characteristics,
    .xShmMap = shim_shm_map,
    .xShmLock = shim_shm_lock,
    .xShmBarrier = shim_shm_barrier,
    .xShmUnmap = shim_shm_unmap,
};

/* ---- the file system ---- */

static int shim_open(sqlite3_vfs *vfs, const char *name, sqlite3_file *file, int flags,
                     int *out_flags)
{
    struct shim_file *shim = of(file);
    *shim = (struct shim_file){ .real = (sqlite3_file *)(shim + 1),
                                .wal = (flags & SQLITE_OPEN_WAL) != 0 };
    memset(shim->real, 0, (size_t)real_vfs->szOsFile);
    pthread_mutex_lock(&world.mutex);
    int rc = world.dead || strikes(FAULT_OPEN) ? SQLITE_CANTOPEN : SQLITE_OK;
    if (!rc && name) shim->disk = disk_of(name);
    if (!rc) rc = real_vfs->xOpen(real_vfs, name, shim->real, flags, out_flags);
    if (shim->real->pMethods) shim->base.pMethods = &shim_methods;
    pthread_mutex_unlock(&world.mutex);
    return rc;
}

static int shim_delete(sqlite3_vfs *vfs, const char *name, int sync_dir)
{
    pthread_mutex_lock(&world.mutex);
    int rc = world.dead || strikes(FAULT_REMOVE) ? SQLITE_IOERR_DELETE : SQLITE_OK;
    if (!rc) rc = real_vfs->xDelete(real_vfs, name, 0);
    for (size_t i = 0; i < DISKS_MAX && !rc; i++) {
        if (strcmp(world.disks[i].path, name) == 0) disk_forget(&world.disks[i]);
    }
    pthread_mutex_unlock(&world.mutex);
    return rc;
}

static int shim_access(sqlite3_vfs *vfs, const char *name, int flags, int *out)
{
    return real_vfs->xAccess(real_vfs, name, flags, out);
}

static int shim_full_pathname(sqlite3_vfs *vfs, const char *name, int len, char *out)
{
    return real_vfs->xFullPathname(real_vfs, name, len, out);
}

void fault_vfs_install(void)
{
    static sqlite3_vfs shim;
    real_vfs = sqlite3_vfs_find(NULL);
    assert(real_vfs);
    shim = *real_vfs; // what is not wrapped, such as time and chance, works on any VFS
    shim.zName = "fault";
    shim.szOsFile = (int)sizeof(struct shim_file) + real_vfs->szOsFile;
    shim.pNext = NULL;
    shim.xOpen = shim_open;
    shim.xDelete = shim_delete;
    shim.xAccess = shim_access;
    shim.xFullPathname = shim_full_pathname;
    int rc = sqlite3_vfs_register(&shim, 1);
    assert(rc == SQLITE_OK);
}
