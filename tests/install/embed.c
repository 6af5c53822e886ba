/* What a program that embeds pawl looks like from outside: it has what `make install` gave it. */
#include <pawl/pawl.h>

#include <stdio.h>

int main(void)
{
    struct pawl *pawl = NULL;
    struct pawl_diag diag = { 0 };
    struct pawl_submitted job;
    enum pawl_err err =
        pawl_open(&(struct pawl_config){ .store = "sqlite::memory:" }, &pawl, &diag);
    if (!err) err = pawl_submit(pawl, &(struct pawl_job_spec){ .type = "mail.send" }, &job, &diag);
    if (err) {
        fprintf(stderr, "%s: %s\n", pawl_err_name(err), diag.text);
    } else {
        printf("%s\n", pawl_state_name(job.state, PAWL_VOCABULARY_PAWL));
    }
    pawl_close(pawl);
    return err ? 1 : 0;
}
