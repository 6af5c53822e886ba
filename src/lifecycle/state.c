/* States: their names in each vocabulary, lookups by name, and properties.
 *
 * Pure; any thread. */
#include <pawl/work.h>

#include <stddef.h>

struct row {
    const char *names[PAWL_VOCABULARY_END];
    enum pawl_ending ending;
};

#define X(number, name, canonical, ojs, ratchet, marie, end, meaning)                              \
    [number] = { .names = { [PAWL_VOCABULARY_PAWL] = canonical,                                    \
                            [PAWL_VOCABULARY_OJS] = ojs,                                           \
                            [PAWL_VOCABULARY_RATCHET] = ratchet,                                   \
                            [PAWL_VOCABULARY_MARIE] = marie },                                     \
                 .ending = PAWL_ENDING_##end },
static const struct row rows[PAWL_STATE_END] = { PAWL_STATES(X) };
#undef X

static bool is_state(enum pawl_state state)
{
    return state > PAWL_STATE_NONE && state < PAWL_STATE_END;
}

static bool is_vocabulary(enum pawl_vocabulary vocabulary)
{
    return (unsigned)vocabulary < PAWL_VOCABULARY_END;
}

const char *pawl_state_name(enum pawl_state state, enum pawl_vocabulary vocabulary)
{
    if (!is_state(state) || !is_vocabulary(vocabulary)) return "none";
    return rows[state].names[vocabulary];
}

/* Not strcasecmp: in a Turkish locale "PENDING" and "pending" are different. */
static char lower(char c)
{
    return c >= 'A' && c <= 'Z' ? (char)(c - 'A' + 'a') : c;
}

static bool same_word(const char *a, const char *b)
{
    for (; *a && lower(*a) == lower(*b); a++, b++) {
    }
    return *a == '\0' && *b == '\0';
}

uint32_t pawl_state_mask(const char *name, enum pawl_vocabulary vocabulary)
{
    uint32_t mask = 0;
    if (!name || !is_vocabulary(vocabulary)) return 0;
    for (int state = PAWL_STATE_NONE + 1; state < PAWL_STATE_END; state++) {
        if (same_word(name, rows[state].names[vocabulary])) mask |= PAWL_STATE_BIT(state);
    }
    return mask;
}

bool pawl_state_is_terminal(enum pawl_state state)
{
    return is_state(state) && rows[state].ending != PAWL_ENDING_LIVE;
}

bool pawl_state_is_successful(enum pawl_state state)
{
    return is_state(state) && rows[state].ending == PAWL_ENDING_SUCCESS;
}

bool pawl_was_executed(int64_t attempt)
{
    return attempt > 0;
}

const char *pawl_deadline_text(enum pawl_deadline deadline)
{
#define X(number, name, text, ...) [number] = text,
    static const char *const texts[] = { [PAWL_DEADLINE_NONE] = "", PAWL_DEADLINES(X) };
#undef X
    return deadline < PAWL_DEADLINE_END ? texts[deadline] : "";
}
