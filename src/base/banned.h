/* Included by every .c file of pawl through the build (-include): these do not compile. */
#ifndef PAWL_BASE_BANNED_H
#define PAWL_BASE_BANNED_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#pragma GCC poison strcpy strcat sprintf vsprintf atoi atol atoll localtime gmtime time rand srand

#endif
