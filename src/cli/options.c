/* The lists of options.h as tables, and looking things up in them. */
#include "cli/options.h"

#include <ctype.h>

const struct pawl__cli_option pawl__cli_options[PAWL__CLI_OPT_END] = {
#define X(id, set, text, short_name, what, argument, default_text, many, about)                    \
    [PAWL__CLI_OPT_##id] = { .group = PAWL__CLI_##set,                                             \
                             .name = text,                                                         \
                             .letter = short_name,                                                 \
                             .kind = PAWL__CLI_KIND_##what,                                        \
                             .arg = argument,                                                      \
                             .fallback = default_text,                                             \
                             .repeats = many,                                                      \
                             .help = about },
    PAWL__CLI_OPTIONS(X)
#undef X
};

const char *const pawl__cli_group_titles[PAWL__CLI_GROUP_END] = {
#define X(name, title) [PAWL__CLI_GROUP_NUMBER_##name] = title,
    PAWL__CLI_GROUPS(X)
#undef X
};

enum pawl__cli_option_id pawl__cli_option_find(uint64_t groups, const char *name, size_t len)
{
    for (enum pawl__cli_option_id i = 0; i < PAWL__CLI_OPT_END; i++) {
        const struct pawl__cli_option *option = &pawl__cli_options[i];
        if ((groups & option->group) && strlen(option->name) == len &&
            memcmp(option->name, name, len) == 0) {
            return i;
        }
    }
    return PAWL__CLI_OPT_END;
}

enum pawl__cli_option_id pawl__cli_option_letter(uint64_t groups, char letter)
{
    for (enum pawl__cli_option_id i = 0; i < PAWL__CLI_OPT_END; i++) {
        const struct pawl__cli_option *option = &pawl__cli_options[i];
        if ((groups & option->group) && option->letter && option->letter == letter) return i;
    }
    return PAWL__CLI_OPT_END;
}

void pawl__cli_option_env(const struct pawl__cli_option *option, char out[PAWL__CLI_ENV_BYTES])
{
    int len = snprintf(out, PAWL__CLI_ENV_BYTES, "PAWL_%s", option->name);
    for (int i = 0; i < len && i < PAWL__CLI_ENV_BYTES - 1; i++) {
        out[i] = out[i] == '-' ? '_' : (char)toupper((unsigned char)out[i]);
    }
}
