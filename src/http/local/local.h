/* What one server knows by itself: which run is whose (leases), the workers that it has heard of,
 * the fetches that wait, rate limits and throughput.
 *
 * All of it is kept in memory, holds for this server alone and is gone after a restart: two servers
 * on one store count rates and workers each for itself. Where that matters the store has the last
 * word. Rates and workers are to move into the store; then this door stays and what is behind it
 * changes. Everything here is on the loop. */
#ifndef PAWL_HTTP_LOCAL_LOCAL_H
#define PAWL_HTTP_LOCAL_LOCAL_H

#include "http/local/leases.h"
#include "http/local/rates.h"
#include "http/local/throughput.h"
#include "http/local/waiters.h"
#include "http/local/workers.h"

#endif
