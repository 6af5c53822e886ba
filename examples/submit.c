/* Submits a job: once the id is printed, the job is on disk. Usage: submit [STORE] */
#include <pawl/pawl.h>

#include <stdio.h>

int main(int argc, char **argv)
{
    struct pawl_config config = { .store = argc > 1 ? argv[1] : "sqlite:pawl.db" };
    struct pawl_job_spec spec = { .type = "mail.send",
                                  .args = { "[\"ann@example.com\"]", 19 },
                                  .delay_ms = 60000,
                                  .idempotency_key = "welcome-ann" };
    struct pawl *pawl = NULL;
    struct pawl_submitted job;
    struct pawl_diag diag;
    char id[PAWL_JOB_ID_TEXT_BYTES];

    enum pawl_err err = pawl_open(&config, &pawl, &diag);
    if (!err) err = pawl_submit(pawl, &spec, &job, &diag);
    pawl_close(pawl);
    if (err) {
        fprintf(stderr, "%s: %s\n", pawl_err_name(err), diag.text);
        return 1;
    }
    pawl_job_id_text(job.id, id);
    printf("%s is %s\n", id, pawl_state_name(job.state, PAWL_VOCABULARY_PAWL));
    return 0;
}
