/* The options of all commands and the settings, as lists, from which the parser, the readers of the
 * environment and the configuration file, the help, the man page, the completion and docs/cli.md
 * are generated. */
#ifndef PAWL_CLI_OPTIONS_H
#define PAWL_CLI_OPTIONS_H

#include <pawl/job.h>

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The kinds of values. NAME, description */
#define PAWL__CLI_KINDS(X)                                                                         \
    X(FLAG, "true or false (also yes, no, on, off, 1, 0)")                                         \
    X(TEXT, "text, not empty")                                                                     \
    X(QUEUE, "a queue's name")                                                                     \
    X(TYPE, "a job type")                                                                          \
    X(STORE, "\"sqlite:PATH\", \"sqlite::memory:\" or \"postgres://...\"")                         \
    X(WAKE, "\"redis://HOST:PORT\", \"redis+unix:///PATH\", \"postgres://...\" or \"none\"")       \
    X(SERVER, "\"http://HOST:PORT\" or \"https://HOST:PORT\"")                                     \
    X(FILE, "a file's path")                                                                       \
    X(UUID, "a UUID: 01890000-0000-7000-8000-00000000dead")                                        \
    X(PRIORITY, "a whole number from -100 to 100")                                                 \
    X(RANGE, "a priority, or two with \"..\" between them: 5, 5..10, -3..")                        \
    X(COUNT, "a whole number from 1 to 2147483647")                                                \
    X(FACTOR, "a number, at least 1")                                                              \
    X(BYTES, "a number of bytes, at least 1: 65536, 64KiB, 10MiB, 1GiB")                           \
    X(DURATION, "a duration of at most 36525d: 500ms, 5s, 1h30m, 3d or ISO 8601")                  \
    X(PERIOD, "a duration above zero and of at most 36525d: 500ms, 5s, 1h30m, 3d or ISO 8601")     \
    X(AGE, "a duration of at most 36525d (500ms, 5s, 1h30m, 3d or ISO 8601), or \"never\"")        \
    X(INSTANT, "an instant: 2030-01-31T08:00:00Z, or in local time: 2030-01-31 09:00")             \
    X(LATER, "an instant (2030-01-31T08:00:00Z, 2030-01-31 09:00) or a duration from now (90s)")   \
    X(EXPIRY,                                                                                      \
      "an instant (2030-01-31T08:00:00Z, 2030-01-31 09:00) or a duration after it is due (90s)")   \
    X(EARLIER, "an instant (2030-01-31T08:00:00Z, 2030-01-31 09:00) or a duration ago (90s)")      \
    X(QUEUE_LIMIT, "a queue, optionally with a limit of concurrent jobs: mail, mail=4")            \
    X(COMMAND, "a job type and a command: mail.send=./send-mail.sh")                               \
    X(PAIR, "a name and a value: name=value")                                                      \
    X(META, "a JSON object, or name=value")                                                        \
    X(NAMES, "comma-separated names")                                                              \
    X(STATES, "comma-separated states")                                                            \
    X(UNIQUE, "any of type, queue, args, meta, comma-separated")                                   \
    X(SCOPES, "any of read, submit, work, admin, comma-separated")                                 \
    X(LOG_LEVEL, "debug, info, warning or error")                                                  \
    X(LOG_FORMAT, "auto, text or json")                                                            \
    X(DURABILITY, "full or relaxed")                                                               \
    X(VOCABULARY, "pawl, ojs, ratchet or marie")                                                   \
    X(BACKOFF, "exponential, linear, polynomial, constant or immediate")                           \
    X(CONFLICT, "reject, replace, replace_except_schedule or ignore")                              \
    X(FLOW_STATE, "running, completed, failed or cancelled")                                       \
    X(DIALECT, "auto, cron or quartz")                                                             \
    X(GAP, "skip or shift")                                                                        \
    X(OVERLAP, "skip, allow, queue or cancel_previous")                                            \
    X(MISFIRE, "skip, once or catch_up")                                                           \
    X(SCHEDULE_STATES, "any of active, paused, held, exhausted, comma-separated")

#define X(name, ...) PAWL__CLI_KIND_##name,
enum pawl__cli_kind { PAWL__CLI_KINDS(X) PAWL__CLI_KIND_END };
#undef X

/* Each option is in one group; a command accepts the options of some groups. NAME, title */
#define PAWL__CLI_GROUPS(X)                                                                        \
    X(SETTING, "Settings")                                                                         \
    X(ALWAYS, "Help")                                                                              \
    X(SUBMIT, "The job")                                                                           \
    X(ONCE, "This job alone")                                                                      \
    X(FILTER, "Filter")                                                                            \
    X(LIST, "The listing")                                                                         \
    X(BULK, "Bulk changes")                                                                        \
    X(REASON, "Audit")                                                                             \
    X(ROUTE, "The jobs")                                                                           \
    X(ROUTED, "The reservation")                                                                   \
    X(ASSIGN, "The run")                                                                           \
    X(FAILURE, "The failure")                                                                      \
    X(LOCK_TTL, "The lock")                                                                        \
    X(LOCK_OWNER, "The owner")                                                                     \
    X(MIGRATE, "Migration")                                                                        \
    X(RETENTION, "Retention")                                                                      \
    X(LOG, "The log")                                                                              \
    X(STATS, "Statistics")                                                                         \
    X(WAIT, "Waiting")                                                                             \
    X(WORK, "The node")                                                                            \
    X(SERVE, "The server")                                                                         \
    X(LIMITS, "Limits")                                                                            \
    X(TOKEN, "The token")                                                                          \
    X(TOP, "The view")                                                                             \
    X(QUEUE, "The queue")                                                                          \
    X(FLOW_LIST, "The listing")                                                                    \
    X(FLOW_SHOW, "The picture")                                                                    \
    X(FLOW_CANCEL, "Jobs that run")                                                                \
    X(FLOW_RETRY, "The extent")                                                                    \
    X(FLOW_SIGNAL, "The signal")                                                                   \
    X(FLOW_ADD, "The addition")                                                                    \
    X(FLOW_KEY, "Its kind")                                                                        \
    X(WHEN, "The recurrence")                                                                      \
    X(COMING, "The fires")                                                                         \
    X(SCHEDULE, "The schedule")                                                                    \
    X(UNSET, "Defaults")                                                                           \
    X(CRON_LIST, "The listing")                                                                    \
    X(FIRINGS, "The history")                                                                      \
    X(FORCE, "The run")                                                                            \
    X(APPLY, "The changes")

#define X(name, ...) PAWL__CLI_GROUP_NUMBER_##name,
enum pawl__cli_group_number { PAWL__CLI_GROUPS(X) PAWL__CLI_GROUP_END };
#undef X
#define X(name, ...) PAWL__CLI_##name = INT64_C(1) << PAWL__CLI_GROUP_NUMBER_##name,
enum pawl__cli_group { PAWL__CLI_GROUPS(X) };
#undef X
/* Groups whose options can also be set in the environment and the configuration file. */
#define PAWL__CLI_SETTINGS (PAWL__CLI_SETTING | PAWL__CLI_RETENTION | PAWL__CLI_LOG)

/* ID, group, "name", letter or 0, kind, "ARGUMENT", default or NULL, may be repeated, help. The id
 * of an option in LIMITS is the name in PAWL__HTTP_LIMITS. */
#define PAWL__CLI_OPTIONS(X)                                                                       \
    X(STORE, SETTING, "store", 's', STORE, "URL", "sqlite:pawl.db", false,                         \
      "the store of the jobs")                                                                     \
    X(WAKE, SETTING, "wake", 0, WAKE, "URL", NULL, false,                                          \
      "how processes that share the store wake each other: redis://HOST:PORT, postgres://... "     \
      "(another route to the store's server), or none (default: through the store)")               \
    X(SERVER, SETTING, "server", 0, SERVER, "URL", NULL, false,                                    \
      "use this server instead of opening a store")                                                \
    X(TOKEN, SETTING, "token", 0, TEXT, "TOKEN", NULL, false,                                      \
      "for a server that requires one; PAWL_TOKEN keeps it out of the process list")               \
    X(CA_FILE, SETTING, "ca-file", 0, FILE, "FILE", NULL, false,                                   \
      "CA certificates to trust, instead of the system's")                                         \
    X(DURABILITY, SETTING, "durability", 0, DURABILITY, "LEVEL", "full", false,                    \
      "full: every answered change survives a power cut; relaxed: survives a killed process, but " \
      "a power cut may take the last changes")                                                     \
    X(BUSY_TIMEOUT, SETTING, "busy-timeout", 0, DURATION, "DURATION", "30s", false,                \
      "how long to wait for other processes that use the store")                                   \
    X(ACTOR, SETTING, "actor", 0, TEXT, "NAME", NULL, false,                                       \
      "the name recorded in the job's history (default: the user's)")                              \
    X(VOCABULARY, SETTING, "vocabulary", 0, VOCABULARY, "NAME", "pawl", false,                     \
      "the system whose names of states are read and printed: pawl, ojs, ratchet or marie")        \
    X(JSON, SETTING, "json", 0, FLAG, NULL, NULL, false, "print JSON")                             \
    X(NO_COLOR, SETTING, "no-color", 0, FLAG, NULL, NULL, false,                                   \
      "print without colours; the variable NO_COLOR does the same")                                \
    X(QUIET, SETTING, "quiet", 'q', FLAG, NULL, NULL, false, "print results and errors only")      \
    X(FORCE_NETWORK_FS, SETTING, "force-network-fs", 0, FLAG, NULL, NULL, false,                   \
      "use a store on a network file system, where SQLite's locks may not work")                   \
    X(CONFIG, SETTING, "config", 0, FILE, "FILE", NULL, false,                                     \
      "read settings from a file with lines \"name = value\" and # comments")                      \
    X(HELP, ALWAYS, "help", 'h', FLAG, NULL, NULL, false, "explain the command")                   \
    X(VERSION, ALWAYS, "version", 'V', FLAG, NULL, NULL, false, "print the version")               \
    X(QUEUE, SUBMIT, "queue", 0, QUEUE, "QUEUE", "default", false, "the job's queue")              \
    X(PRIORITY, SUBMIT, "priority", 'p', PRIORITY, "N", "0", false,                                \
      "-100 to 100; higher runs sooner")                                                           \
    X(DELAY, ONCE, "delay", 'd', DURATION, "DURATION", NULL, false, "due this long from now")      \
    X(AT, ONCE, "at", 0, INSTANT, "INSTANT", NULL, false,                                          \
      "due at this instant; one in the past means now")                                            \
    X(EXPIRES, SUBMIT, "expires", 0, EXPIRY, "WHEN", NULL, false,                                  \
      "expire the job if it has not started by then, or this long after it is due")                \
    X(TIMEOUT, SUBMIT, "timeout", 0, PERIOD, "DURATION", NULL, false,                              \
      "time limit of one run (default: none)")                                                     \
    X(LEASE, SUBMIT, "lease", 0, PERIOD, "DURATION", NULL, false,                                  \
      "how long a claim lasts without a heartbeat, at least 100ms (default: the worker decides)")  \
    X(MAX_ATTEMPTS, SUBMIT, "max-attempts", 0, COUNT, "N", "3", false,                             \
      "total attempts, including the first; 1 means no retries")                                   \
    X(RETRY_INITIAL, SUBMIT, "retry-initial", 0, PERIOD, "DURATION", "1s", false,                  \
      "the wait after the first failure")                                                          \
    X(RETRY_FACTOR, SUBMIT, "retry-factor", 0, FACTOR, "C", "2", false, "how fast the wait grows") \
    X(RETRY_MAX, SUBMIT, "retry-max", 0, PERIOD, "DURATION", "5m", false,                          \
      "the longest wait; the default is raised to --retry-initial")                                \
    X(RETRY_BACKOFF, SUBMIT, "retry-backoff", 0, BACKOFF, "HOW", "exponential", false,             \
      "how the wait grows: exponential, linear, polynomial, constant or immediate")                \
    X(NO_JITTER, SUBMIT, "no-jitter", 0, FLAG, NULL, NULL, false,                                  \
      "wait exactly that long; otherwise a random 0.5 to 1.5 times as long")                       \
    X(NON_RETRYABLE, SUBMIT, "non-retryable", 0, TEXT, "ERROR", NULL, true,                        \
      "an error type that is not retried; \"auth.*\" matches all that begin with \"auth.\"")       \
    X(DEAD_LETTER, SUBMIT, "dead-letter", 0, FLAG, NULL, NULL, false,                              \
      "mark it as a dead letter when no attempts are left")                                        \
    X(KEY, ONCE, "key", 'k', TEXT, "KEY", NULL, false,                                             \
      "idempotency key: submitting it again returns the first job")                                \
    X(KEY_TTL, ONCE, "key-ttl", 0, PERIOD, "DURATION", NULL, false,                                \
      "how long the key is kept (default: for ever)")                                              \
    X(BUSINESS_KEY, SUBMIT, "business-key", 0, TEXT, "KEY", NULL, false,                           \
      "refuse the job while another with this key has not ended")                                  \
    X(UNIQUE, SUBMIT, "unique", 'u', UNIQUE, "KEYS", NULL, false,                                  \
      "refuse the job while another unique job has the same type, queue, args or meta, as listed") \
    X(UNIQUE_ARGS, SUBMIT, "unique-args", 0, NAMES, "NAMES", NULL, false,                          \
      "compare only these members of the arguments")                                               \
    X(UNIQUE_META, SUBMIT, "unique-meta", 0, NAMES, "NAMES", NULL, false,                          \
      "compare only these members of meta")                                                        \
    X(UNIQUE_PERIOD, SUBMIT, "unique-period", 0, PERIOD, "DURATION", NULL, false,                  \
      "compare only with jobs younger than this")                                                  \
    X(UNIQUE_STATES, SUBMIT, "unique-states", 0, STATES, "STATES", NULL, false,                    \
      "compare only with jobs in these states (default: those that have not ended)")               \
    X(ON_CONFLICT, SUBMIT, "on-conflict", 0, CONFLICT, "WHAT", "reject", false,                    \
      "if there is such a job: reject, replace, replace_except_schedule or ignore")                \
    X(META, SUBMIT, "meta", 'm', META, "JSON|NAME=VALUE", NULL, true, "data about the job")        \
    X(TAG, SUBMIT, "tag", 't', TEXT, "TAG", NULL, true, "a label to search for")                   \
    X(ID, ONCE, "id", 0, UUID, "UUID", NULL, false, "the job's id (default: generated)")           \
    X(PENDING, ONCE, "pending", 0, FLAG, NULL, NULL, false, "hold it until \"pawl activate\"")     \
    X(KEEP, SUBMIT, "keep", 0, PERIOD, "DURATION", NULL, false,                                    \
      "keep the record at least this long after it ended")                                         \
    X(PRINCIPAL, SUBMIT, "principal", 0, TEXT, "NAME", NULL, false, "the principal it runs for")   \
    X(TRACE, SUBMIT, "trace", 0, TEXT, "ID", NULL, false, "the trace it belongs to")               \
    X(SOFT_SLA, ONCE, "soft-sla", 0, LATER, "WHEN", NULL, false,                                   \
      "soft deadline; the job moves forward as it approaches")                                     \
    X(HARD_SLA, ONCE, "hard-sla", 0, LATER, "WHEN", NULL, false, "hard deadline")                  \
    X(ON_SUCCESS, SUBMIT, "on-success", 0, TEXT, "JOB", NULL, false,                               \
      "a job to submit when this one is completed: its type, or JSON")                             \
    X(ON_FAILURE, SUBMIT, "on-failure", 0, TEXT, "JOB", NULL, false,                               \
      "a job to submit when this one is discarded, cancelled or expired")                          \
    X(STRICT, ONCE, "strict", 0, FLAG, NULL, NULL, false,                                          \
      "refuse lines with unknown members, instead of storing and reporting these")                 \
    X(CREATE, QUEUE, "create", 0, FLAG, NULL, NULL, false,                                         \
      "create queues that do not exist, paused")                                                   \
    X(F_STATE, FILTER, "state", 0, STATES, "STATES", NULL, true, "in one of these states")         \
    X(F_QUEUE, FILTER, "queue", 0, QUEUE, "QUEUE", NULL, true, "in this queue")                    \
    X(F_TYPE, FILTER, "type", 0, TYPE, "TYPE", NULL, true,                                         \
      "of this type; \"mail.*\" matches types that begin with \"mail.\"")                          \
    X(F_TAG, FILTER, "tag", 't', TEXT, "TAG", NULL, true, "with this tag")                         \
    X(F_BUSINESS_KEY, FILTER, "business-key", 0, TEXT, "KEY", NULL, false,                         \
      "with this business key")                                                                    \
    X(F_KEY, FILTER, "key", 'k', TEXT, "KEY", NULL, false, "with this idempotency key")            \
    X(F_PRINCIPAL, FILTER, "principal", 0, TEXT, "NAME", NULL, false,                              \
      "on behalf of this principal")                                                               \
    X(F_WORKER, FILTER, "worker", 0, TEXT, "NAME", NULL, false, "last claimed by this worker")     \
    X(F_TRACE, FILTER, "trace", 0, TEXT, "ID", NULL, false, "with this trace id")                  \
    X(F_META, FILTER, "meta", 'm', PAIR, "NAME=VALUE", NULL, false,                                \
      "whose meta has this member with this value")                                                \
    X(F_PRIORITY, FILTER, "priority", 'p', RANGE, "N|N..M", NULL, false,                           \
      "of this priority, or in this range")                                                        \
    X(F_CREATED_AFTER, FILTER, "created-after", 0, EARLIER, "WHEN", NULL, false,                   \
      "submitted at or after")                                                                     \
    X(F_CREATED_BEFORE, FILTER, "created-before", 0, EARLIER, "WHEN", NULL, false,                 \
      "submitted before")                                                                          \
    X(F_DUE_AFTER, FILTER, "due-after", 0, EARLIER, "WHEN", NULL, false, "due at or after")        \
    X(F_DUE_BEFORE, FILTER, "due-before", 0, EARLIER, "WHEN", NULL, false, "due before")           \
    X(F_FINISHED_AFTER, FILTER, "finished-after", 0, EARLIER, "WHEN", NULL, false,                 \
      "ended at or after")                                                                         \
    X(F_FINISHED_BEFORE, FILTER, "finished-before", 0, EARLIER, "WHEN", NULL, false,               \
      "ended before")                                                                              \
    X(F_DEAD, FILTER, "dead", 0, FLAG, NULL, NULL, false, "marked as dead letters")                \
    X(F_ARCHIVED, FILTER, "archived", 0, FLAG, NULL, NULL, false, "include archived jobs")         \
    X(LIMIT, LIST, "limit", 'n', COUNT, "N", "50", false, "show at most this many")                \
    X(ALL, LIST, "all", 'a', FLAG, NULL, NULL, false, "show all of them")                          \
    X(OLDEST_FIRST, LIST, "oldest-first", 0, FLAG, NULL, NULL, false,                              \
      "oldest first, instead of newest first")                                                     \
    X(CURSOR, LIST, "cursor", 0, TEXT, "CURSOR", NULL, false, "continue where a listing ended")    \
    X(COUNT, LIST, "count", 'c', FLAG, NULL, NULL, false, "print only their number")               \
    X(JSONL, LIST, "jsonl", 0, FLAG, NULL, NULL, false,                                            \
      "print JSON Lines, an object for each job")                                                  \
    X(PAGED, LIST, "paged", 0, FLAG, NULL, NULL, false,                                            \
      "print one JSON object: \"jobs\" and, if there are more, \"next\" for --cursor")             \
    X(ALL_MATCHING, BULK, "all-matching", 0, FLAG, NULL, NULL, false,                              \
      "change all jobs that match the filter")                                                     \
    X(YES, BULK, "yes", 'y', FLAG, NULL, NULL, false, "do not ask for confirmation")               \
    X(REASON, REASON, "reason", 'r', TEXT, "TEXT", NULL, false, "recorded in the job's history")   \
    X(R_QUEUE, ROUTE, "queue", 0, QUEUE, "QUEUE", NULL, true,                                      \
      "from this queue; earlier queues come first (default: \"default\")")                         \
    X(R_TYPE, ROUTE, "type", 0, TYPE, "TYPE", NULL, true,                                          \
      "of this type; \"mail.*\" matches types that begin with \"mail.\"")                          \
    X(R_LIMIT, ROUTE, "limit", 'n', COUNT, "N", "1", false, "at most so many")                     \
    X(R_FOR, ROUTE, "for", 0, PERIOD, "DURATION", "5s", false,                                     \
      "how long they are reserved, at least 100ms")                                                \
    X(R_WORKER, ROUTED, "worker", 0, TEXT, "NAME", NULL, false,                                    \
      "the name that they are reserved for: a worker's, or the router's own; required")            \
    X(R_TO, ASSIGN, "to", 0, TEXT, "NAME", NULL, false,                                            \
      "the worker that owns the run, if the reservation has another name")                         \
    X(R_LEASE, ASSIGN, "lease", 0, PERIOD, "DURATION", "30s", false,                               \
      "how long the run may take before it counts as lost, unless the job says; at least 100ms")   \
    X(R_TIMED, ASSIGN, "timed", 0, FLAG, NULL, NULL, false,                                        \
      "the run fails with \"timeout\" when the job's time limit is over")                          \
    X(ERROR_TYPE, FAILURE, "error-type", 0, TEXT, "TYPE", NULL, false,                             \
      "type of the error, which the retry policy may list as not retryable")                       \
    X(FOR_GOOD, FAILURE, "for-good", 0, FLAG, NULL, NULL, false, "do not retry")                   \
    X(RETRY_AFTER, FAILURE, "retry-after", 0, PERIOD, "DURATION", NULL, false,                     \
      "wait this long, instead of what the retry policy says")                                     \
    X(TTL, LOCK_TTL, "ttl", 0, PERIOD, "DURATION", "30s", false, "how long the lock lasts")        \
    X(OWNER, LOCK_OWNER, "owner", 0, TEXT, "NAME", NULL, false,                                    \
      "name of the owner; required, and must be unique per contender")                             \
    X(CHECK, MIGRATE, "check", 0, FLAG, NULL, NULL, false,                                         \
      "only report; exit with 1 if a migration is needed")                                         \
    X(ARCHIVE_AFTER, RETENTION, "archive-after", 0, AGE, "DURATION", "7d", false,                  \
      "archive jobs this long after they ended; or never")                                         \
    X(PURGE_AFTER, RETENTION, "purge-after", 0, AGE, "DURATION", "90d", false,                     \
      "delete archived jobs this long after they ended; or never")                                 \
    X(LOG_FORMAT, LOG, "log-format", 0, LOG_FORMAT, "FORMAT", "auto", false,                       \
      "format of the log: text, or json with an object on each line; auto means text on a "        \
      "terminal and json elsewhere")                                                               \
    X(LOG_LEVEL, LOG, "log-level", 0, LOG_LEVEL, "LEVEL", "info", false,                           \
      "lowest level that is logged: debug, info, warning or error")                                \
    X(WATCH, STATS, "watch", 'w', PERIOD, "DURATION", NULL, false,                                 \
      "print them again at this interval, until interrupted")                                      \
    X(WAIT_TIMEOUT, WAIT, "timeout", 0, DURATION, "DURATION", NULL, false,                         \
      "wait no longer than this, then exit with 124; 0s checks once")                              \
    X(FLOW_STATE, FLOW_LIST, "state", 0, FLOW_STATE, "STATE", NULL, false,                         \
      "only flows in this state: running, completed, failed or cancelled")                         \
    X(FLOW_NAME, FLOW_LIST, "name", 0, TEXT, "NAME", NULL, false, "only flows of this name")       \
    X(FLOW_LIMIT, FLOW_LIST, "limit", 'n', COUNT, "N", "50", false, "show at most this many")      \
    X(SVG, FLOW_SHOW, "svg", 0, FILE, "FILE", NULL, false,                                         \
      "write a picture to this file instead; - is standard output")                                \
    X(FLOW_DRAIN, FLOW_CANCEL, "drain", 0, FLAG, NULL, NULL, false,                                \
      "let them finish, without retries, instead of cancelling them")                              \
    X(ALL_BELOW, FLOW_RETRY, "all-below", 0, FLAG, NULL, NULL, false,                              \
      "with all that comes after them, also if it ended well")                                     \
    X(REOPEN, FLOW_ADD, "reopen", 0, FLAG, NULL, NULL, false,                                      \
      "also to a flow that has ended: it runs again")                                              \
    X(PAYLOAD, FLOW_SIGNAL, "payload", 0, TEXT, "JSON", NULL, false, "the node's result")          \
    X(REJECT, FLOW_KEY, "reject", 0, FLAG, NULL, NULL, false, "reject them instead")               \
    X(INTERVAL, TOP, "interval", 'i', PERIOD, "DURATION", "1s", false,                             \
      "time between updates; at least 100ms")                                                      \
    X(TOP_QUEUE, TOP, "queue", 0, QUEUE, "QUEUE", NULL, true, "only this queue and its jobs")      \
    X(LISTEN, SERVE, "listen", 0, TEXT, "ADDRESS:PORT", "127.0.0.1:8080", false,                   \
      "where to listen; port 0 means any free port")                                               \
    X(TLS_CERT, SERVE, "tls-cert", 0, FILE, "FILE", NULL, false,                                   \
      "serve TLS with this certificate and its chain; PEM, reloaded on SIGHUP")                    \
    X(TLS_KEY, SERVE, "tls-key", 0, FILE, "FILE", NULL, false, "its private key; PEM")             \
    X(CORS_ORIGIN, SERVE, "cors-origin", 0, TEXT, "ORIGIN", NULL, false,                           \
      "allow pages from this origin: https://jobs.example.com, or * for any")                      \
    X(ALLOW_HOST, SERVE, "allow-host", 0, TEXT, "NAME", NULL, true,                                \
      "a name that clients may use for the server; needed only without tokens, where names other " \
      "than localhost and the address it listens on are refused")                                  \
    X(ACCESS_LOG, SERVE, "access-log", 0, FLAG, NULL, NULL, false, "log every request")            \
    X(S_DRAIN, SERVE, "drain", 0, DURATION, "DURATION", "30s", false,                              \
      "time for requests in progress when the server stops")                                       \
    X(UNREADY, SERVE, "unready", 0, DURATION, "DURATION", "0s", false,                             \
      "before that, how long to keep serving while /readyz answers 503")                           \
    X(TEST_MODE, SERVE, "test-mode", 0, FLAG, NULL, NULL, false,                                   \
      "enable requests for tests: reset, test directives")                                         \
    X(header_bytes_max, LIMITS, "header-bytes-max", 0, BYTES, "BYTES", "16KiB", false,             \
      "request line and headers together")                                                         \
    X(body_bytes_max, LIMITS, "body-bytes-max", 0, BYTES, "BYTES", "10MiB", false,                 \
      "a request's body")                                                                          \
    X(bodies_bytes_max, LIMITS, "bodies-bytes-max", 0, BYTES, "BYTES", "256MiB", false,            \
      "all bodies being received together")                                                        \
    X(reply_bytes_max, LIMITS, "reply-bytes-max", 0, BYTES, "BYTES", "16MiB", false,               \
      "arguments in one reply; a longer job is returned alone")                                    \
    X(replies_bytes_max, LIMITS, "replies-bytes-max", 0, BYTES, "BYTES", "256MiB", false,          \
      "all large replies being sent together")                                                     \
    X(connections_max, LIMITS, "connections-max", 0, COUNT, "N", "10000", false,                   \
      "connections in all")                                                                        \
    X(connections_per_address_max, LIMITS, "connections-per-address-max", 0, COUNT, "N", "4000",   \
      false, "connections from one address")                                                       \
    X(header_timeout_ms, LIMITS, "header-timeout", 0, PERIOD, "DURATION", "10s", false,            \
      "time to receive the head of a request")                                                     \
    X(body_timeout_ms, LIMITS, "body-timeout", 0, PERIOD, "DURATION", "30s", false,                \
      "time to receive the body of a request")                                                     \
    X(idle_timeout_ms, LIMITS, "idle-timeout", 0, PERIOD, "DURATION", "75s", false,                \
      "time between two requests of a connection")                                                 \
    X(write_timeout_ms, LIMITS, "write-timeout", 0, PERIOD, "DURATION", "30s", false,              \
      "time for a client to receive its reply")                                                    \
    X(pipeline_bytes_max, LIMITS, "pipeline-bytes-max", 0, BYTES, "BYTES", "64KiB", false,         \
      "pipelined requests and unsent replies of a connection")                                     \
    X(stream_bytes_max, LIMITS, "stream-bytes-max", 0, BYTES, "BYTES", "256KiB", false,            \
      "how far a stream's reader may lag behind")                                                  \
    X(streams_bytes_max, LIMITS, "streams-bytes-max", 0, BYTES, "BYTES", "64MiB", false,           \
      "how far all streams' readers together may lag behind")                                      \
    X(events_max, LIMITS, "events-max", 0, COUNT, "N", "100000", false,                            \
      "events kept for later readers")                                                             \
    X(events_bytes_max, LIMITS, "events-bytes-max", 0, BYTES, "BYTES", "64MiB", false,             \
      "texts of workers in those events")                                                          \
    X(fetch_count_max, LIMITS, "fetch-count-max", 0, COUNT, "N", "1000", false,                    \
      "jobs in one fetch")                                                                         \
    X(fetch_wait_ms_max, LIMITS, "fetch-wait-max", 0, PERIOD, "DURATION", "60s", false,            \
      "longest wait of a fetch")                                                                   \
    X(json_depth_max, LIMITS, "json-depth-max", 0, COUNT, "N", "32", false,                        \
      "levels of nested JSON; at most 32")                                                         \
    X(page_size_max, LIMITS, "page-size-max", 0, COUNT, "N", "200", false,                         \
      "jobs on one page of a list")                                                                \
    X(SCOPE, TOKEN, "scope", 0, SCOPES, "SCOPES", NULL, true,                                      \
      "what the token allows: read, submit, work, admin; admin includes the others")               \
    X(T_NAME, TOKEN, "name", 0, TEXT, "NAME", NULL, false,                                         \
      "name of the user or program; shown in jobs' histories")                                     \
    X(T_EXPIRES, TOKEN, "expires", 0, LATER, "WHEN", NULL, false,                                  \
      "invalid from then on, or this long from now (default: never)")                              \
    X(ZONE, WHEN, "zone", 'z', TEXT, "ZONE", "UTC", false,                                         \
      "the time zone of the expression: Europe/Berlin")                                            \
    X(DIALECT, WHEN, "dialect", 0, DIALECT, "NAME", "auto", false,                                 \
      "read the expression as cron or as Quartz (auto: as Quartz with 7 fields, or with 6 if one " \
      "day field is \"?\")")                                                                       \
    X(GAP, WHEN, "gap", 0, GAP, "WHAT", "skip", false,                                             \
      "what happens to times that clocks jump over: skip them, or shift them to the jump's end")   \
    X(BEGINS, WHEN, "start", 0, LATER, "WHEN", NULL, false, "fire from then on")                   \
    X(ENDS, WHEN, "end", 0, LATER, "WHEN", NULL, false, "fire before then only")                   \
    X(FIRES, COMING, "count", 'n', COUNT, "N", "5", false, "show this many fires; at most 1000")   \
    X(FROM, COMING, "from", 0, LATER, "WHEN", NULL, false, "show those after then (default: now)") \
    X(OVERLAP, SCHEDULE, "overlap", 0, OVERLAP, "WHAT", "skip", false,                             \
      "while an earlier job has not ended: skip the firing, allow another job, queue "             \
      "it until the earlier ones have ended, or cancel_previous")                                  \
    X(MISFIRE, SCHEDULE, "misfire", 0, MISFIRE, "WHAT", "once", false,                             \
      "which of several overdue instants fire: skip all, once (the oldest), or catch_up (the "     \
      "oldest --catch-up); one that is alone always fires")                                        \
    X(CATCH_UP, SCHEDULE, "catch-up", 0, COUNT, "N", "11", false,                                  \
      "how many, with --misfire catch_up; at most 1000")                                           \
    X(LATE_MAX, SCHEDULE, "late-max", 0, PERIOD, "DURATION", NULL, false,                          \
      "instants that are overdue by more do not fire (default: no limit)")                         \
    X(JITTER, SCHEDULE, "jitter", 0, DURATION, "DURATION", NULL, false,                            \
      "jobs are due up to this much later, each schedule by another amount; at most 24h")          \
    X(MAX_RUNS, SCHEDULE, "max-runs", 0, COUNT, "N", NULL, false,                                  \
      "stop after so many jobs (default: no limit)")                                               \
    X(CATCH_UP_PAUSED, SCHEDULE, "catch-up-paused", 0, FLAG, NULL, NULL, false,                    \
      "on resume, --misfire decides about the instants that passed; otherwise they are skipped")   \
    X(DISABLED, SCHEDULE, "disabled", 0, FLAG, NULL, NULL, false, "keep it, but do not fire")      \
    X(DESCRIPTION, SCHEDULE, "description", 0, TEXT, "TEXT", NULL, false, "what it is for")        \
    X(UNSET, UNSET, "unset", 0, NAMES, "OPTIONS", NULL, false,                                     \
      "go back to the defaults of these options: --unset jitter,end")                              \
    X(C_STATE, CRON_LIST, "state", 0, SCHEDULE_STATES, "STATES", NULL, false,                      \
      "only schedules in these states")                                                            \
    X(C_PREFIX, CRON_LIST, "prefix", 0, TEXT, "TEXT", NULL, false,                                 \
      "only those whose names begin with this")                                                    \
    X(C_GROUP, CRON_LIST, "group", 0, TEXT, "NAME", NULL, false,                                   \
      "only those that this program, or \"pawl cron apply --group\", declared")                    \
    X(C_LIMIT, CRON_LIST, "limit", 'n', COUNT, "N", "1000", false, "show at most this many")       \
    X(H_LIMIT, FIRINGS, "limit", 'n', COUNT, "N", "20", false, "show so many; at most 100")        \
    X(FORCE, FORCE, "force", 0, FLAG, NULL, NULL, false, "make a job whatever --overlap says")     \
    X(PRUNE, APPLY, "prune", 0, FLAG, NULL, NULL, false,                                           \
      "remove schedules that are not in the file, except those that belong to another group")      \
    X(A_GROUP, APPLY, "group", 0, TEXT, "NAME", NULL, false,                                       \
      "the group that the file's schedules belong to: several files can be applied to a store")    \
    X(DRY_RUN, APPLY, "dry-run", 0, FLAG, NULL, NULL, false, "show what would change, and stop")   \
    X(A_YES, APPLY, "yes", 'y', FLAG, NULL, NULL, false, "do not ask")                             \
    X(EXEC, WORK, "exec", 'x', COMMAND, "TYPE=COMMAND", NULL, true,                                \
      "run jobs of this type with this shell command; \"mail.*\" matches types that begin with "   \
      "\"mail.\", \"*\" all types; the longest match applies, and jobs that nothing matches are "  \
      "not claimed")                                                                               \
    X(W_QUEUE, WORK, "queue", 0, QUEUE_LIMIT, "QUEUE[=N]", NULL, true,                             \
      "claim jobs from this queue, at most N at a time; earlier queues come first (default: "      \
      "\"default\")")                                                                              \
    X(WORKERS, WORK, "workers", 0, COUNT, "N", NULL, false,                                        \
      "run this many jobs at a time (default: the number of processors)")                          \
    X(NAME, WORK, "name", 0, TEXT, "NODE", NULL, false,                                            \
      "the node's name, refused while a live node has it (default: HOSTNAME or the host's name, "  \
      "followed by the process id if that is taken)")                                              \
    X(W_LEASE, WORK, "lease", 0, PERIOD, "DURATION", "30s", false,                                 \
      "after this long without a heartbeat, at least 100ms, other nodes run its jobs again")       \
    X(CLAIM_BYTES_MAX, WORK, "claim-bytes-max", 0, BYTES, "BYTES", "16MiB", false,                 \
      "limit for arguments of claimed jobs in memory; further arguments are read when their job "  \
      "starts")                                                                                    \
    X(DRAIN, WORK, "drain", 0, DURATION, "DURATION", "10s", false,                                 \
      "how long jobs may continue when the node stops")                                            \
    X(GRACE, WORK, "grace", 0, DURATION, "DURATION", "5s", false,                                  \
      "time between SIGTERM and SIGKILL for a command")                                            \
    X(METRICS, WORK, "metrics", 0, TEXT, "ADDRESS:PORT", NULL, false,                              \
      "serve the node's metrics there, at /metrics for Prometheus, and /healthz; port 0 means "    \
      "any "                                                                                       \
      "free port")                                                                                 \
    X(ONCE, WORK, "once", 0, FLAG, NULL, NULL, false,                                              \
      "exit when no job is left to run now; with 1 if a run failed")                               \
    X(VERBOSE, WORK, "verbose", 'v', FLAG, NULL, NULL, false,                                      \
      "log the standard error of commands, and the end of every run")

#define X(id, ...) PAWL__CLI_OPT_##id,
enum pawl__cli_option_id { PAWL__CLI_OPTIONS(X) PAWL__CLI_OPT_END };
#undef X

struct pawl__cli_option {
    uint64_t group; /* one bit */
    const char *name;
    char letter; /* 0: none */
    enum pawl__cli_kind kind;
    const char *arg;      /* NULL for a flag */
    const char *fallback; /* NULL: none */
    bool repeats;
    const char *help;
};

extern const struct pawl__cli_option pawl__cli_options[PAWL__CLI_OPT_END];
extern const char *const pawl__cli_group_titles[PAWL__CLI_GROUP_END];

/* The option called `name` among those of `groups`; PAWL__CLI_OPT_END: there is none. */
enum pawl__cli_option_id pawl__cli_option_find(uint64_t groups, const char *name, size_t len);
enum pawl__cli_option_id pawl__cli_option_letter(uint64_t groups, char letter);
/* "PAWL_BUSY_TIMEOUT" for "busy-timeout". */
#define PAWL__CLI_ENV_BYTES 48
void pawl__cli_option_env(const struct pawl__cli_option *option, char out[PAWL__CLI_ENV_BYTES]);

/* ---- kinds ---- */

/* The description of a kind. */
const char *pawl__cli_kind_form(enum pawl__cli_kind kind);
/* The words of which a value is one (or a list); NULL: any text. */
const char *const *pawl__cli_kind_choices(enum pawl__cli_kind kind);
/* Whether a value is a comma-separated list. */
bool pawl__cli_kind_is_list(enum pawl__cli_kind kind);

/* A value of an option, as its kind has it: a FLAG is a flag, a FACTOR real, a UUID an id, a RANGE
 * a range. All others are numbers: counts, bytes, durations in ms (-1: "never"), instants; a word
 * is its place among the choices, a list of words a mask of those. Texts are not converted. */
union pawl__cli_value {
    bool flag;
    int64_t number;
    double real;
    struct pawl_job_id id;
    int32_t range[2];
};

/* Reads a value; durations before or after now become instants. False: it is no such value. STATES
 * are checked later, when the vocabulary is known. */
bool pawl__cli_kind_read(enum pawl__cli_kind kind, const char *text, int64_t now_ms,
                         union pawl__cli_value *out);
bool pawl__cli_kind_check(enum pawl__cli_kind kind, const char *text);
/* A whole number within the bounds; false: it is not one. */
bool pawl__cli_read_int(const char *text, int64_t min, int64_t max, int64_t *out);

#endif
