/* A file system for SQLite that fails on demand and can simulate a power cut.
 *
 * It wraps the default VFS and becomes the default itself, so all databases use it. Calls of a kind
 * are counted from the moment a fault is armed; the n-th one fails, and as many after it as wanted.
 * Files are never really synced: the shim keeps for each file what a disk would hold (its content
 * at the last successful sync) and what has been written since. After a power cut every file has
 * the content of its disk, with an arbitrary part of the later writes.
 *
 * A sync that fails loses what was written before it for good: later reads still return it, but
 * later syncs do not write it. Linux does the same. Any thread. */
#ifndef PAWL_TESTS_FAULT_VFS_H
#define PAWL_TESTS_FAULT_VFS_H

#include <stdbool.h>
#include <stdint.h>

/* NAME, text: what happens to the n-th call */
#define FAULTS(X)                                                                                  \
    X(NONE, "nothing")                                                                             \
    X(WRITE, "a write fails")                                                                      \
    X(WRITE_TORN, "half of a write arrives, then it fails")                                        \
    X(WRITE_FULL, "the disk is full")                                                              \
    X(WRITE_READONLY, "a write finds the file read-only")                                          \
    X(SYNC, "a sync fails")                                                                        \
    X(OPEN, "an open fails")                                                                       \
    X(TRUNCATE, "a truncation fails")                                                              \
    X(READ, "a read fails")                                                                        \
    X(READ_SHORT, "a read of the log comes back short")                                            \
    X(LOCK, "a lock cannot be taken for an error")                                                 \
    X(SHM, "shared memory cannot be mapped")                                                       \
    X(REMOVE, "a file cannot be removed")                                                          \
    X(SIZE, "a file's size cannot be had")                                                         \
    X(POWER, "the power fails at a write, sync or truncation")

#define X(name, text) FAULT_##name,
enum fault { FAULTS(X) FAULT_END };
#undef X

struct fault_plan {
    enum fault fault;
    int64_t nth;   /* 1 is the next such call */
    int64_t count; /* so many fail from there on; 0: all of them */
};

const char *fault_name(enum fault fault);

/* Once, before any database is opened. */
void fault_vfs_install(void);
/* Begin counting again, with this plan. FAULT_NONE: all is well. */
void fault_arm(struct fault_plan plan);
/* Has it happened since it was armed? */
bool fault_fired(void);

/* From now on nothing reaches the disk, and every call fails, until fault_restore. */
void fault_cut_power(void);
/* After all files were closed: leave on disk what survived, and be well again. The seed chooses
 * which of the writes that were on their way arrived; 0: none did. */
void fault_restore(uint64_t seed);
/* Forget all files that are closed: what is there now is what the disk holds. */
void fault_settle(void);

/* Whether the disk promises, as SQLite assumes of Linux, that a write which is cut short harms
 * nothing beside it [yes]. Without the promise SQLite pads its log to whole sectors. */
void fault_set_careful(bool careful);

#endif
