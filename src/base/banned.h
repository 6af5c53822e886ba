/* The build includes this in every .c file of pawl (-include): calls of these functions do not
 * compile. */
#ifndef PAWL_BASE_BANNED_H
#define PAWL_BASE_BANNED_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#pragma GCC poison strcpy strcat sprintf vsprintf atoi atol atoll localtime gmtime srand

/* These are also names of members and arguments in headers of libraries, so only calls are refused
 * (by gcc; clang requires the attribute on the first declaration). */
#if !defined(__clang__)
time_t time(time_t *) __attribute__((error("take a struct pawl_clock")));
int rand(void) __attribute__((error("take a struct pawl__rng")));
#endif

#endif
