/* Ties of the tests' own; included before src/store/core/settle.c. */
#ifndef TESTS_SETTLE_TIES_H
#define TESTS_SETTLE_TIES_H

#define PAWL__TIES_MORE(X)                                                                         \
    X(24, WATCH, "the job whose id comes next")                                                    \
    X(25, ECHO, "what is said of each move")                                                       \
    X(26, DOUBT, "whether the job whose id comes next has ended")                                  \
    X(27, GRAFT, "the ties of the job whose id comes next")                                        \
    X(28, JOIN, "jobs that wait for several others: tables.h")                                     \
    X(29, BREAK, "rows of flows, which it damages: breaks.c")
#define PAWL__SETTLE_MAX 8

#endif
