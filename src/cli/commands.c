/* The list of commands.h as a table, and the help beyond the summaries. */
#include "cli/commands.h"

#define ANYWHERE (PAWL__CLI_SETTING | PAWL__CLI_ALWAYS)

#define X(fn, first_word, second_word, operand_text, least, most, use, takes, hide, about)         \
    { .run = pawl__cli_##fn,                                                                       \
      .word = first_word,                                                                          \
      .second = second_word,                                                                       \
      .operands = operand_text,                                                                    \
      .operands_min = least,                                                                       \
      .operands_max = most,                                                                        \
      .store = PAWL__CLI_STORE_##use,                                                              \
      .groups = ANYWHERE | (takes),                                                                \
      .hidden = hide,                                                                              \
      .summary = about },
#define CONTROL(number, name, verb, event, about)                                                  \
    { .run = pawl__cli_control,                                                                    \
      .word = verb,                                                                                \
      .operands = PAWL__CLI_CONTROL_OPERANDS,                                                      \
      .operands_max = PAWL__CLI_MANY,                                                              \
      .store = PAWL__CLI_STORE_OPEN,                                                               \
      .groups = ANYWHERE | PAWL__CLI_CONTROL_GROUPS,                                               \
      .summary = about,                                                                            \
      .control = PAWL_CONTROL_##name },
#define MANY PAWL__CLI_MANY
// clang-format off
const struct pawl__cli_command pawl__cli_commands[] = {
    PAWL__CLI_COMMANDS_BEFORE(X)
    PAWL_CONTROLS(CONTROL)
    PAWL__CLI_COMMANDS_AFTER(X)
};
// clang-format on
#undef MANY
#undef CONTROL
#undef X

const size_t pawl__cli_command_count = sizeof(pawl__cli_commands) / sizeof(pawl__cli_commands[0]);

const struct pawl__cli_command *pawl__cli_command_find(const char *word, const char *second)
{
    for (size_t i = 0; i < pawl__cli_command_count; i++) {
        const struct pawl__cli_command *command = &pawl__cli_commands[i];
        if (strcmp(command->word, word) != 0) continue;
        if (!second || (command->second && strcmp(command->second, second) == 0)) return command;
    }
    return NULL;
}

/* ---- help ---- */

struct prose {
    pawl__cli_command_fn *run;
    const char *details;
    const char *examples;
};

static const struct prose prose[] = {
    { pawl__cli_submit,
      "TYPE names the kind of work; ARGS is a JSON array of arguments. The job is on disk before "
      "its id is printed.\n\n"
      "With \"-\" as TYPE, or without TYPE if standard input is not a terminal, jobs are read as "
      "JSON Lines: one object on each line, with \"type\" and, as needed, \"args\", \"queue\", "
      "\"priority\", \"delay\" or \"delay_ms\", \"at\" or \"scheduled_at\", \"expires_at\", "
      "\"timeout_ms\", \"retry\", \"unique\", \"meta\", \"tags\", \"id\", "
      "\"idempotency_key\", \"business_key\", \"on_success\", \"on_failure\" and so on; other "
      "members are stored with the job. "
      "Options are defaults for members that a line omits. Lines are committed in batches of up "
      "to 1000, each all or nothing. Reading stops at the first line that fails, and the message "
      "says which lines were added.",
      "pawl submit mail.send '[\"ann@example.com\"]' --queue mail --priority 5\n"
      "pawl submit report.build --delay 10m --max-attempts 5 --retry-initial 30s\n"
      "pawl submit sync --unique type,args --on-conflict ignore\n"
      "pawl submit backup.run --on-failure '{\"type\": \"alert.raise\", \"queue\": \"ops\"}'\n"
      "pawl submit - <jobs.jsonl\n" },
    { pawl__cli_show,
      "Prints the job's states with their times, its attempts and errors, the actions of "
      "operators, and its arguments, result, log, progress and checkpoint. On a terminal, values "
      "longer than 4 KiB are cut; a pipe gets all of them. With --json, one object on a line for "
      "each job.\n\n"
      "Wherever a command takes a job's id, a unique prefix of at least 8 digits is enough. Ids "
      "begin with the time, so jobs that were submitted within the same second differ only in "
      "later digits.",
      "pawl show 0197f3c2-7a5e-7c31-9d2f-5b8f6f0c1a2b\npawl show 0197f3c2-7a5e-7c\n" },
    { pawl__cli_list,
      "Without options, the 50 newest jobs. A repeated option matches any of its values; different "
      "options must all match. --json prints an array, --jsonl a line for each job; if there are "
      "more jobs, a note on standard error gives the cursor of the next page. Programs that read "
      "page by page should use --paged.",
      "pawl list --state retryable,discarded --queue mail\n"
      "pawl list --created-after 1h --count\n"
      "pawl list --all --jsonl --type mail.send | wc -l\n" },
    { pawl__cli_wait,
      "Prints a line for each job as it ends: its id, its state, and its result or its last "
      "error. With --json the line is an object with the fields of \"pawl list --json\" and, "
      "after a failure, \"error\".\n\n"
      "Exits with 0 if all of them succeeded (completed or skipped), with 1 if one was discarded, "
      "cancelled, expired or not found, and with 124 if --timeout passed first. A job that waits "
      "for its next attempt, or is paused, has not ended.",
      "pawl wait 0197f3c2-7a5e-7c31-9d2f-5b8f6f0c1a2b --timeout 10m\n"
      "id=$(pawl submit report.build) && pawl wait \"$id\" && echo done\n" },
    { pawl__cli_work,
      "Claims jobs of the types that --exec names from its queues and runs their commands with "
      "/bin/sh, until it gets a signal to stop.\n\n"
      "A command gets the job on standard input, as one JSON object with the fields of \"pawl "
      "show --json\", and PAWL_JOB_ID, PAWL_JOB_TYPE, PAWL_QUEUE, PAWL_ATTEMPT, PAWL_RUN and "
      "PAWL_ARGS (JSON, unless it is longer than 128 KiB) in its environment. Its standard output "
      "becomes the job's result: unchanged if it is one JSON value, else as a string. A result "
      "may have 1 MiB; longer output is cut, stored as a string, and the job's log says so. Each "
      "line on standard error is added to the job's log, which keeps the first 50 and the last "
      "950 lines.\n\n"
      "If the job is a node of a flow, or a follow-up, it also gets what its parents left: an "
      "array "
      "of objects with name, id, state, reason and result, in the order of the flow, as the member "
      "\"inputs\" "
      "of that object and in PAWL_INPUTS, with the same limit. The result of a parent that did "
      "not complete is null. If the results have more than 1 MiB together, all of them are null, "
      "and \"inputs_omitted_bytes\" says how long they are.\n\n"
      "A line \"pawl:progress PERCENT [MESSAGE]\" on standard error reports progress, which "
      "\"pawl show\" prints; the line is not logged.\n\n"
      "Exit status 0 means success, and 65 (EX_DATAERR) discards the job. Any other status, or "
      "death by a signal, is a failure: the job is retried by its policy, if it has attempts "
      "left. The error's type is \"exit.N\", \"signal.KILL\" and so on, but \"tempfail\" for "
      "status 75 (EX_TEMPFAIL): with --non-retryable 'exit.*', a job is retried after status 75 "
      "and not after other statuses.\n\n"
      "Each command runs in a process group of its own. If it exceeds its time limit, or the job "
      "is cancelled or its lease lost, the group gets SIGTERM and, after --grace, SIGKILL. When "
      "the command exits, processes left in the group are killed: at once, or after --grace if "
      "one still holds the command's output open. If the node itself is killed, even by kill -9, "
      "its commands are killed too. Only a process that leaves the group (setsid) or runs as "
      "another user survives.\n\n"
      "SIGTERM, SIGINT and SIGHUP stop the node: it claims no more jobs, lets commands continue "
      "for --drain, then stops them and gives their jobs back without counting an attempt. A "
      "second signal kills the commands at once and gives their jobs back; a third exits without "
      "waiting for the store. With --once the exit code is 1 if a run failed, even if the job "
      "will be retried.\n\n"
      "With --json, a line is printed for each run that ended. The log goes to standard error: "
      "events of the node and its store, failed runs, and with --verbose all runs and the "
      "commands' standard error. On a terminal it is text, elsewhere a JSON object on each line, "
      "unless --log-format says otherwise. A line has time, level, message and, for a run, job_id, "
      "type, queue, outcome, attempt, max_attempts, duration_ms and error.\n\n"
      "With --metrics, the node serves /metrics and /healthz, with the metric names of \"pawl "
      "serve\": runs of this process by queue and type, running handlers, and how long jobs "
      "waited and ran. As with \"pawl serve\", /metrics needs a token of scope read if there are "
      "tokens; without tokens only a loopback address is allowed. For a node that uses a server "
      "(--server), that server has the metrics.",
      "pawl work --exec mail.send=./send-mail.sh --exec 'report.build=make report'\n"
      "pawl work --queue urgent --queue mail=2 --workers 8 --exec mail.send=./send-mail.sh\n"
      "pawl work --metrics 127.0.0.1:9100 --exec mail.send=./send-mail.sh\n"
      "pawl work --once --exec 'hello=echo \"Hello, $(jq -r .args[0])\"'\n"
      "pawl work --exec 'sum=echo \"$PAWL_INPUTS\" | jq \"map(.result) | add\"'\n"
      "pawl work --exec 'copy=echo \"pawl:progress 50 half of it\" >&2; sleep 5'\n" },
    { pawl__cli_serve,
      "Serves the Open Job Spec at /ojs/v1, and /health, /ready, /metrics and /openapi.json, and "
      "runs the store's maintenance as a node does. Prints its address once it is listening. The "
      "node's name is $HOSTNAME or the host's name, followed by the process id if that name is "
      "taken.\n\n"
      "Without tokens it listens on loopback addresses only, and accepts every local client. As "
      "soon as there is a token (\"pawl token add\"), every request needs one, except for health, "
      "readiness and the manifest.\n\n"
      "The log goes to standard error: on a terminal as text, elsewhere as a JSON object on each "
      "line, unless --log-format says otherwise. A line has time, level, message and, for a "
      "request (with --access-log), request_id, method, route, address, token, status, duration_ms "
      "and bytes; path only if the status is 404. It never contains arguments.\n\n"
      "SIGTERM and SIGINT stop it in two phases. For --unready it keeps serving while /readyz "
      "answers 503; then it accepts no more connections and finishes requests in progress, for "
      "at most --drain. Another signal skips to the next phase, and in the last one closes the "
      "remaining connections. SIGHUP reloads certificate and key.",
      "pawl serve\n"
      "pawl serve --listen 0.0.0.0:8443 --tls-cert chain.pem --tls-key key.pem --access-log\n" },
    { pawl__cli_token_add,
      "The token is printed once and stored only as a hash. A request with \"Authorization: "
      "Bearer TOKEN\" may do what the token's scopes allow. To replace a token, add a new one, "
      "distribute it, then revoke the old one. Changes reach running servers within two seconds.",
      "pawl token add --scope submit,read --name web\n"
      "pawl token add --scope work --name workers --expires 90d\n" },
    { pawl__cli_token_list, "The time of a token's last use is precise to a minute.",
      "pawl token list --json\n" },
    { pawl__cli_token_revoke, "It stays in the list. Running servers refuse it within two seconds.",
      "" },
    { pawl__cli_control,
      "Give ids, or use --all-matching with a filter. With --all-matching it first shows how "
      "many jobs match and asks for confirmation; if there is no terminal, --yes is required.",
      "" },
    { pawl__cli_delete,
      "Only jobs that have ended can be deleted. Give ids, or use --all-matching with a filter.",
      "pawl delete --all-matching --state completed --finished-before 30d --yes\n" },
    { pawl__cli_rerun,
      "Submits a new job for each id, due now, with the same type, arguments, queue, priority, "
      "policies, limits, tags and metadata, and prints the new ids. Archived jobs can be rerun "
      "too. Business keys and unique policies apply as for any submit; idempotency keys are not "
      "copied. To run a discarded job again and keep its history, use \"pawl retry\".",
      "pawl rerun 0197f3c2-7a5e-7c31-9d2f-5b8f6f0c1a2b\n" },
    { pawl__cli_priority, "Only the priority of waiting jobs can be changed.",
      "pawl priority 0197f3c2-7a5e-7c31-9d2f-5b8f6f0c1a2b 50\n" },
    { pawl__cli_stats, "The counts are exact: every transaction that moves jobs updates them.",
      "pawl stats --watch 2s\n" },
    { pawl__cli_top,
      "Draws the counts of each state and queue, rates, nodes, the running jobs (the latest "
      "started first) and the failed ones (discarded, waiting for a retry, or paused after "
      "either; the latest failure first, among the newest jobs). A node is alive while its "
      "heartbeat is no older than 30 seconds. Rates are differences of exact counters between "
      "two updates. It needs a terminal of 60 columns and 15 lines, uses little bandwidth and "
      "barely loads the store.\n\n"
      "Keys: up, down, j and k select a row, tab the next list; p pauses or resumes the queue or "
      "job, c cancels the job after a confirmation, r retries the failed job; space updates now, "
      "? shows help, q quits.\n\n"
      "Without a terminal it prints one snapshot; with --json as one object.",
      "pawl top\npawl top --queue mail --interval 5s\n" },
    { pawl__cli_dead_list,
      "A job is discarded when it has no attempts left or its error is not retryable. Jobs that "
      "were submitted with --dead-letter are marked.",
      "pawl dead\npawl dead --queue mail --finished-after 1d\n" },
    { pawl__cli_dead_retry, "A retried job starts a new series of attempts and keeps its errors.",
      "pawl dead retry --all-matching --type mail.send --reason \"server is back\"\n" },
    { pawl__cli_queue_pause, "A paused queue still accepts jobs, and its running jobs continue.",
      "pawl queue pause mail --reason \"provider is down\"\n" },
    { pawl__cli_queue_delete,
      "Only a queue without jobs can be deleted; archived jobs do not count, and are kept. "
      "Submitting a job to a deleted queue creates it again, not paused.",
      "pawl delete --all-matching --queue old --yes && pawl queue delete old\n" },
    { pawl__cli_cron_list, "WHEN is the expression in words, SKIPS counts instants without a job.",
      "pawl cron\npawl cron list --state paused,held\n" },
    { pawl__cli_cron_add,
      "At the instants of EXPRESSION each a job is made, by one of the nodes that share the store. "
      "EXPRESSION is a cron expression (see \"pawl cron next --help\"), or instants with commas "
      "between them. The options of the job are those of \"pawl submit\", except what belongs to a "
      "single job. Each job's meta has cron_name and cron_triggered_at. docs/cron.md explains the "
      "policies.",
      "pawl cron add nightly '30 2 * * *' backup.run --zone Europe/Berlin --overlap skip\n"
      "pawl cron add cache '@every 90s' cache.warm '[\"all\"]' --queue low --jitter 10s\n" },
    { pawl__cli_cron_show,
      "Prints the expression in words, the next fires, the counts, and what happened lately: "
      "firings, instants without a job and why, and changes.",
      "pawl cron show nightly\n" },
    { pawl__cli_cron_edit,
      "What is not named stays as it is. Instants that are overdue are decided by the old "
      "definition first; the next instant moves only if the recurrence changed.",
      "pawl cron edit nightly '0 3 * * *'\n"
      "pawl cron edit nightly --overlap queue --unset jitter,end\n" },
    { pawl__cli_cron_pause, "Jobs that were made already go on.",
      "pawl cron pause nightly --reason \"maintenance until Monday\"\n" },
    { pawl__cli_cron_resume,
      "The instants that passed are skipped, unless the schedule has --catch-up-paused.",
      "pawl cron resume nightly\n" },
    { pawl__cli_cron_run,
      "In any state of the schedule; its instants and --max-runs are not affected. Prints the "
      "job's "
      "id. Exits with 1 if no job was made because an earlier one has not ended.",
      "pawl wait $(pawl cron run nightly)\n" },
    { pawl__cli_cron_remove, "Its history is removed too.", "pawl cron remove nightly\n" },
    { pawl__cli_cron_history, "The last 100 entries of each schedule are kept.",
      "pawl cron history nightly --limit 50 --json\n" },
    { pawl__cli_cron_apply,
      "FILE is like a crontab; - is standard input. Each line has a name, an expression, perhaps a "
      "time zone, a type, perhaps arguments, and options of \"pawl cron add\"; a line of options "
      "alone sets defaults for those below it; # begins a comment. It shows what would change and "
      "asks for confirmation; if there is no terminal, --yes is required. A file with a mistake "
      "changes nothing. docs/cron.md describes the format.",
      "pawl cron apply jobs.cron --dry-run\n"
      "pawl cron apply jobs.cron --group billing --prune --yes\n" },
    { pawl__cli_cron_next,
      "Prints the expression in words, its coming fires in local time and UTC, and what changes of "
      "the clocks do to them. Needs no store, unless it is given the name of a schedule; then "
      "options replace those of the schedule. An expression has five fields (minute, hour, day of "
      "month, month, day of week), six with seconds before them, or seven with years after them; "
      "or it is @hourly, @daily, @weekly, @monthly, @yearly or \"@every 1h30m\". docs/cron.md "
      "describes it.",
      "pawl cron next '0 9 * * 1-5' --zone Europe/Berlin\n"
      "pawl cron next '0 0 L * *' --count 12 --from 2030-01-01T00:00:00Z\n" },
    { pawl__cli_route,
      "For programs that decide which worker runs a job. A reserved job is pending: no other claim "
      "gets it. \"pawl assign\" starts its run, \"pawl unroute\" gives it back; either needs the "
      "token that is printed here. A reservation that ends unused costs no attempt.",
      "pawl route --worker gpu-1 --queue ocr --for 10s\n"
      "pawl route --worker gpu-1 --limit 10 --json\n" },
    { pawl__cli_assign,
      "Prints the number of the run, for \"pawl complete\" and \"pawl fail\"; with --json also "
      "the arguments. Exits with 1 if the reservation has ended, or the job was cancelled or "
      "paused.",
      "run=$(pawl assign 01a1e322 1795118743970 --worker gpu-1 --lease 5m)\n" },
    { pawl__cli_unroute, "The job keeps its place, and it costs no attempt.",
      "pawl unroute 01a1e322 1795118743970 --worker gpu-1\n" },
    { pawl__cli_complete_run,
      "RESULT is JSON. Exits with 1 if the run is no longer the job's current one: it took too "
      "long, and another worker has the job.",
      "pawl complete 01a1e322 1 '{\"pages\": 3}'\n" },
    { pawl__cli_fail_run, "The job is retried as its policy says.",
      "pawl fail 01a1e322 1 'no such page' --error-type PageMissing --for-good\n" },
    { pawl__cli_lock_try,
      "Prints the fencing number, which grows with every grant: pass it to the resource that the "
      "lock protects. Exits with 1 if another owner holds the lock.",
      "pawl lock try nightly --owner \"$HOSTNAME-$$\" --ttl 10m && ./nightly.sh\n"
      "pawl lock release nightly --owner \"$HOSTNAME-$$\"\n" },
    { pawl__cli_lock_run,
      "Takes the lock, or exits with 1 if another owner holds it; renews it while the command "
      "runs, and releases it when the command has ended. The command's environment has the "
      "fencing number in PAWL_LOCK_FENCE. The exit code is the command's own, or 128 plus the "
      "number of the signal that ended it. Put \"--\" before a command that has options.\n\n"
      "If the store cannot be reached for so long that the lock is about to expire, the command's "
      "process group gets SIGTERM before another owner can take the lock, and SIGKILL five "
      "seconds later. If the lock is already lost (this process was suspended), the group is "
      "killed at once. The exit code is 1 in both cases. If this process itself is killed, so is "
      "the command's process group.",
      "pawl lock run nightly --ttl 1m -- ./nightly.sh --all\n" },
    { pawl__cli_flow_submit,
      "FILE is a JSON object, \"-\" is standard input. It has \"nodes\", each with a \"name\", the "
      "members of a job, and the names of the nodes that it comes \"after\"; or it is a layout of "
      "the "
      "Open Job Spec: a chain, a group or a batch. docs/flows.md describes both. All jobs are "
      "added, "
      "or none.",
      "pawl flow submit nightly.json\n"
      "echo '{\"type\": \"chain\", \"steps\": [{\"type\": \"a\"}, {\"type\": \"b\"}]}' | "
      "pawl flow submit -\n" },
    { pawl__cli_flow_show,
      "Prints the flow and, for each node, a line: parents stand above their children, members of "
      "a "
      "group below it. Of many alike nodes a few are shown. With --svg it writes a picture that "
      "browsers show, on light and dark backgrounds. ID may be the beginning of an id.",
      "pawl flow show 019a3b5c\n"
      "pawl flow show 019a3b5c --svg nightly.svg\n" },
    { pawl__cli_flow_cancel,
      "Nothing of the flow begins any more: not its callbacks, and not what waits for a failure. "
      "Jobs that run are cancelled, unless --drain is given. NODE is a node's name. A group that "
      "is cancelled has failed, and so has a job; the nodes after it are judged by that.",
      "pawl flow cancel 019a3b5c\n"
      "pawl flow cancel 019a3b5c pages --drain\n" },
    { pawl__cli_flow_retry,
      "What failed begins anew, with a new series of attempts, and with it what was given up "
      "because of that. What ran and ended stays as it is, even if it came after. Without NODE it "
      "is all that failed. A flow that was cancelled is resumed instead.",
      "pawl flow retry 019a3b5c\n"
      "pawl flow retry 019a3b5c load --all-below\n" },
    { pawl__cli_flow_pause,
      "Jobs that run go on. What they release is paused, until \"pawl flow resume\".",
      "pawl flow pause 019a3b5c\n" },
    { pawl__cli_flow_resume,
      "Of a paused flow, what the pause held back; jobs that were paused by themselves stay so. Of "
      "a cancelled flow, what the cancel ended, which begins anew.",
      "pawl flow resume 019a3b5c\n" },
    { pawl__cli_flow_add,
      "FILE is like that of \"pawl flow submit\", but has nodes alone. They may come after nodes "
      "of "
      "the flow, and be members of its groups that are not sealed. All are added, or none.",
      "pawl flow add 019a3b5c more.json\n" },
    { pawl__cli_flow_seal,
      "A group or flow that was submitted with \"unsealed\" ends only when it is sealed.",
      "pawl flow seal 019a3b5c pages\n" },
    { pawl__cli_flow_approve,
      "Completes the node, with the payload as its result, so that what comes after it runs. If it "
      "does not wait yet, it keeps the signal until it does. A node takes one signal: a second one "
      "is refused, and so is one after the node's timeout. \"pawl flow show\" lists what waits.",
      "pawl flow approve 019a3b5c release --payload '{\"by\": \"ann\"}'\n" },
    { pawl__cli_flow_reject,
      "The node does what its \"on_reject\" says: it fails (the default), is skipped, or "
      "completes.",
      "pawl flow reject 019a3b5c release\n" },
    { pawl__cli_flow_signal,
      "Reaches the nodes of all flows that wait for this \"signal_key\" at the moment, and exits "
      "with 1 if there are none: unlike \"pawl flow approve\", nothing is kept for later.",
      "pawl flow signal freeze-is-over\n" },
    { pawl__cli_flow_wait,
      "Prints each flow when it has ended, and exits with 1 if one of them failed or was "
      "cancelled.",
      "pawl flow wait $(pawl flow submit nightly.json)\n" },
    { pawl__cli_node_list,
      "A node is live while its last heartbeat is younger than its lease, draining while its last "
      "jobs finish, and stale if its last heartbeat is older than its lease: other nodes then "
      "take over its jobs and locks. Stale nodes are listed for a day.",
      "pawl node\npawl node show web-1\n" },
    { pawl__cli_migrate,
      "Until it has been run, other commands refuse a store with an older schema.",
      "pawl migrate --check\n" },
    { pawl__cli_backup,
      "The copy is complete and consistent, even while other processes write. The file must not "
      "exist. For SQLite only: a store on PostgreSQL is backed up with PostgreSQL's own tools.",
      "pawl backup pawl-copy.db\n" },
    { pawl__cli_check,
      "Reads the whole store and checks its structure and pawl's own invariants. Prints a line for "
      "each fault; exits with 1 if there is any.",
      "" },
    { pawl__cli_upkeep,
      "Makes due jobs available, frees jobs whose leases have expired, and expires, archives and "
      "purges jobs, until nothing is left to do. Nodes (\"pawl work\", \"pawl serve\") do this "
      "continuously; use this command for a store without nodes.",
      "pawl upkeep --archive-after 1d --purge-after 30d\n" },
};

static const struct prose *prose_of(const struct pawl__cli_command *command)
{
    static const struct prose none = { NULL, "", "" };
    for (size_t i = 0; i < sizeof(prose) / sizeof(prose[0]); i++) {
        if (prose[i].run == command->run) return &prose[i];
    }
    return &none;
}

const char *pawl__cli_command_details(const struct pawl__cli_command *command)
{
    return prose_of(command)->details;
}

const char *pawl__cli_command_examples(const struct pawl__cli_command *command)
{
    return prose_of(command)->examples;
}
