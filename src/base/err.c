/* Lookups in the list of errors. A number that occurs twice does not compile (-Woverride-init). */
#include <pawl/error.h>

#include <stddef.h>

struct error {
    const char *name;
    const char *text;
    int status;
};

#define X(number, error_name, http_status, error_text)                                             \
    [number] = { .name = #error_name, .text = error_text, .status = http_status },
static const struct error errors[PAWL_ERR_END] = { PAWL_ERRORS(X) };
#undef X

static const struct error *find(enum pawl_err err)
{
    static const struct error unknown = { .name = "UNKNOWN",
                                          .text = "unknown error",
                                          .status = 500 };
    size_t number = (size_t)err; // a negative number becomes a huge one
    return number < PAWL_ERR_END && errors[number].name ? &errors[number] : &unknown;
}

const char *pawl_err_name(enum pawl_err err)
{
    return find(err)->name;
}

const char *pawl_err_text(enum pawl_err err)
{
    return find(err)->text;
}

int pawl_err_status(enum pawl_err err)
{
    return find(err)->status;
}
