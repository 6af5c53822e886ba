/* Doubly linked lists of structs that have their own links: `prev` and `next` are the names of
 * those members, so that one struct may be in several lists. An item that is in none has NULL
 * links. One thread; nothing is allocated. */
#ifndef PAWL_BASE_LIST_H
#define PAWL_BASE_LIST_H

#include <stddef.h>

/* In front. `first` is the head, an lvalue. */
#define PAWL__LIST_PUSH(first, item, prev, next)                                                   \
    do {                                                                                           \
        (item)->prev = NULL;                                                                       \
        (item)->next = (first);                                                                    \
        if ((item)->next) (item)->next->prev = (item);                                             \
        (first) = (item);                                                                          \
    } while (0)

/* The item must be in the list. */
#define PAWL__LIST_REMOVE(first, item, prev, next)                                                 \
    do {                                                                                           \
        if ((item)->next) (item)->next->prev = (item)->prev;                                       \
        *((item)->prev ? &(item)->prev->next : &(first)) = (item)->next;                           \
        (item)->prev = (item)->next = NULL;                                                        \
    } while (0)

/* ---- lists with a head and a tail: queues ---- */

#define PAWL__QUEUE_ADD(first, last, item, prev, next)                                             \
    do {                                                                                           \
        (item)->next = NULL;                                                                       \
        (item)->prev = (last);                                                                     \
        *((item)->prev ? &(item)->prev->next : &(first)) = (item);                                 \
        (last) = (item);                                                                           \
    } while (0)

#define PAWL__QUEUE_REMOVE(first, last, item, prev, next)                                          \
    do {                                                                                           \
        *((item)->next ? &(item)->next->prev : &(last)) = (item)->prev;                            \
        *((item)->prev ? &(item)->prev->next : &(first)) = (item)->next;                           \
        (item)->prev = (item)->next = NULL;                                                        \
    } while (0)

#endif
