/* Builds a flow, runs it in this process and prints how its nodes ended. Usage: flow [STORE] */
#include <pawl/flow_builder.h>
#include <pawl/pawl.h>

#include <stdio.h>

enum { PAGES = 20 };

static enum pawl_outcome extract(struct pawl_task *task, void *ctx)
{
    (void)ctx;
    struct pawl_span result = { "{\"orders\":3}", 12 };
    return pawl_task_result(task, result) ? PAWL_OUTCOME_RETRY : PAWL_OUTCOME_DONE;
}

static enum pawl_outcome nothing(struct pawl_task *task, void *ctx)
{
    (void)task, (void)ctx;
    return PAWL_OUTCOME_DONE;
}

static enum pawl_err submit(struct pawl *pawl, struct pawl_job_id *id, struct pawl_diag *diag)
{
    const struct pawl_job_spec load = { .type = "load" }, skip = { .type = "skip" },
                               report = { .type = "report" }, alarm = { .type = "alarm" };
    struct pawl_job_spec pages[PAGES];
    for (int i = 0; i < PAGES; i++) {
        pages[i] = (struct pawl_job_spec){ .type = "page" };
    }
    struct pawl_flow_builder *b = pawl_flow_builder_new("nightly");
    int32_t first = pawl_flow_builder_job(b, &(struct pawl_job_spec){ .type = "extract" });
    int32_t branch = pawl_flow_builder_branch(b, first, PAWL_FLOW_SELECT_FIRST);
    (void)pawl_flow_builder_arm(b, branch, "/result/orders > 0", &load);
    (void)pawl_flow_builder_arm(b, branch, NULL, &skip); // if no other arm is taken
    int32_t batch = pawl_flow_builder_batch(b, pages, PAGES);
    pawl_flow_builder_after(b, batch, first);
    (void)pawl_flow_builder_then(b, batch, &report);
    (void)pawl_flow_builder_callback(b, batch, PAWL_FLOW_ON_FAILURE, &alarm);
    enum pawl_err err = pawl_flow_builder_submit(pawl, b, id, diag);
    pawl_flow_builder_free(b);
    return err;
}

static enum pawl_err run(struct pawl *pawl, struct pawl_diag *diag)
{
    enum pawl_err err = pawl_handle(pawl, "extract", extract, NULL, diag);
    if (!err) err = pawl_handle(pawl, "*", nothing, NULL, diag);
    if (!err) err = pawl_start(pawl, NULL, diag);
    if (!err) (void)pawl_idle(pawl, 60000, 60000);
    return err;
}

static enum pawl_err print(struct pawl *pawl, struct pawl_job_id id, int *ran,
                           struct pawl_diag *diag)
{
    struct pawl_flow_nodes nodes = { .at = NULL };
    enum pawl_err err = pawl_flow_nodes_get(pawl, id, &nodes, diag);
    for (size_t i = 0; i < nodes.count; i++) {
        const struct pawl_flow_view *node = &nodes.at[i];
        *ran += node->state == PAWL_STATE_COMPLETED;
        if (node->group) continue; // pages are alike
        printf("%-10s %s\n", node->name, pawl_state_name(node->state, PAWL_VOCABULARY_PAWL));
    }
    pawl_flow_nodes_release(&nodes);
    return err;
}

int main(int argc, char **argv)
{
    struct pawl_config config = { .store = argc > 1 ? argv[1] : "sqlite:pawl.db" };
    struct pawl *pawl = NULL;
    struct pawl_job_id id;
    struct pawl_diag diag;
    int ran = 0;

    enum pawl_err err = pawl_open(&config, &pawl, &diag);
    if (!err) err = submit(pawl, &id, &diag);
    if (!err) err = run(pawl, &diag);
    if (!err) err = print(pawl, id, &ran, &diag);
    if (err) fprintf(stderr, "%s: %s\n", pawl_err_name(err), diag.text);
    pawl_close(pawl);
    return err || ran != PAGES + 5;
}
