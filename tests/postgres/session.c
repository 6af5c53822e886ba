#include "postgres/session.h"

const struct store_kind *session_kind(void)
{
    for (size_t i = 0; i < store_kind_count; i++) {
        if (store_kinds[i].served && store_kind_wanted(&store_kinds[i])) return &store_kinds[i];
    }
    return NULL;
}

void session_say(PGconn *pg, const char *text)
{
    PGresult *result = PQexec(pg, text);
    ExecStatusType status = PQresultStatus(result);
    if (status != PGRES_COMMAND_OK && status != PGRES_TUPLES_OK) {
        fail_msg("%s: %s", text, PQerrorMessage(pg));
    }
    PQclear(result);
}
