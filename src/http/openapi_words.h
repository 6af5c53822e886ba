/* What the OpenAPI document says beyond the list of routes: the members of queries, the schemas. */
#ifndef PAWL_HTTP_OPENAPI_WORDS_H
#define PAWL_HTTP_OPENAPI_WORDS_H

/* route's name, member, JSON type, text */
#define PAWL__OPENAPI_QUERIES(X)                                                                   \
    X("events", "types", "string", "Types of events, commas between; job.* for all of a kind")     \
    X("events", "queues", "string", "Queues, commas between")                                      \
    X("events", "job_types", "string", "Types of jobs, commas between")                            \
    X("events", "after", "string", "Events after this id or cursor")                               \
    X("events", "limit", "integer", "At most so many, 1 to 1000")                                  \
    X("event_stream", "channel", "string", "job:ID, queue:NAME or all")                            \
    X("event_stream", "event_types", "string", "Types of events, commas between")                  \
    X("job_events", "event_types", "string", "Types of events, commas between")                    \
    X("queue_events", "event_types", "string", "Types of events, commas between")                  \
    X("result", "wait", "boolean", "Wait for the job to end")                                      \
    X("result", "timeout", "number", "Wait at most so many seconds")                               \
    X("queues", "limit", "integer", "At most so many")                                             \
    X("queues", "cursor", "string", "From the page before")                                        \
    X("dead_letters", "queue", "string", "Of this queue alone")                                    \
    X("dead_letters", "limit", "integer", "At most so many")                                       \
    X("dead_letters", "cursor", "string", "From the page before")                                  \
    X("dead_letters", "offset", "integer", "Leave out so many")                                    \
    X("dead_letters_purge", "older_than", "string", "Ended before this: P7D, 7d or a timestamp")   \
    X("jobs", "queue", "string", "Of this queue alone")                                            \
    X("jobs", "state", "string", "In this state alone")                                            \
    X("jobs", "type", "string", "Of this type alone")                                              \
    X("jobs", "worker", "string", "Held by this worker alone")                                     \
    X("jobs", "since", "string", "Created at or after this timestamp")                             \
    X("jobs", "until", "string", "Created before this timestamp")                                  \
    X("jobs", "sort", "string", "created_at, scheduled_at or priority")                            \
    X("jobs", "order", "string", "desc or asc")                                                    \
    X("jobs", "limit", "integer", "At most so many")                                               \
    X("jobs", "cursor", "string", "From the page before")                                          \
    X("jobs", "offset", "integer", "Leave out so many")                                            \
    X("workflows", "state", "string", "running, completed, failed or cancelled")                   \
    X("workflows", "name", "string", "Of this name alone")                                         \
    X("workflows", "limit", "integer", "At most so many")                                          \
    X("workflows", "cursor", "string", "From the page before")                                     \
    X("crons", "enabled", "boolean", "Those that fire, or those that do not")                      \
    X("crons", "limit", "integer", "At most so many")                                              \
    X("crons", "offset", "integer", "Leave out so many")                                           \
    X("crons", "page", "integer", "The page, from 1; instead of offset")                           \
    X("crons", "per_page", "integer", "Schedules on a page; instead of limit")                     \
    X("cron_items", "enabled", "boolean", "Those that fire, or those that do not")                 \
    X("cron_items", "page", "integer", "The page, from 1")                                         \
    X("cron_items", "per_page", "integer", "Schedules on a page")                                  \
    X("cron_history", "limit", "integer", "At most so many, 1 to 100")                             \
    X("cron_history", "cursor", "integer", "From the page before")

/* route's name, what its body is: a name of the schemas below */
#define PAWL__OPENAPI_BODIES(X)                                                                    \
    X("submit", "JobRequest")                                                                      \
    X("submit_batch", "JobRequests")                                                               \
    X("bulk_submit", "JobRequests")                                                                \
    X("workflow_add", "WorkflowRequest")                                                           \
    X("workflow_submit", "WorkflowRequest")                                                        \
    X("fetch", "Fetch")                                                                            \
    X("route", "Route")                                                                            \
    X("assign", "Routed")                                                                          \
    X("unroute", "Routed")                                                                         \
    X("ack", "Ack")                                                                                \
    X("nack", "Nack")

/* route's name, what it answers with: likewise */
#define PAWL__OPENAPI_ANSWERS(X)                                                                   \
    X("submit", "JobReply")                                                                        \
    X("submit_batch", "JobsReply")                                                                 \
    X("job_get", "JobReply")                                                                       \
    X("job_cancel", "JobReply")                                                                    \
    X("job_activate", "JobReply")                                                                  \
    X("workflow_cancel", "WorkflowReply")                                                          \
    X("workflow_retry", "WorkflowReply")                                                           \
    X("workflow_pause", "WorkflowReply")                                                           \
    X("workflow_resume", "WorkflowReply")                                                          \
    X("workflow_add", "WorkflowReply")                                                             \
    X("workflow_seal", "WorkflowReply")                                                            \
    X("workflow_signal", "WorkflowReply")                                                          \
    X("workflow_submit", "WorkflowReply")                                                          \
    X("workflow_get", "WorkflowReply")                                                             \
    X("workflows", "WorkflowsReply")                                                               \
    X("fetch", "JobsReply")                                                                        \
    X("route", "RoutesReply")                                                                      \
    X("assign", "JobReply")                                                                        \
    X("events", "EventsReply")

/* name, JSON */
#define PAWL__OPENAPI_SCHEMAS(X)                                                                   \
    X("Error", "{\"type\":\"object\",\"required\":[\"error\"],\"properties\":{\"error\":"          \
               "{\"type\":\"object\",\"required\":[\"code\",\"message\",\"retryable\","            \
               "\"request_id\"],\"properties\":{\"code\":{\"type\":\"string\"},\"message\":"       \
               "{\"type\":\"string\"},\"retryable\":{\"type\":\"boolean\"},\"request_id\":"        \
               "{\"type\":\"string\"},\"hint\":{\"type\":\"string\"},\"docs_url\":"                \
               "{\"type\":\"string\"},\"type\":{\"type\":\"string\"},\"details\":"                 \
               "{\"type\":\"object\"}}}}}")                                                        \
    X("RemoteError",                                                                               \
      "{\"anyOf\":[{\"$ref\":\"#/components/schemas/Error\"},{\"type\":\"object\",\"required\":"   \
      "[\"err\"],\"properties\":{\"err\":{\"type\":\"string\"},\"field\":{\"type\":\"string\"},"   \
      "\"text\":{\"type\":\"string\"}}}]}")                                                        \
    X("JobRequest", "{\"type\":\"object\",\"required\":[\"type\",\"args\"],\"properties\":"        \
                    "{\"type\":{\"type\":\"string\",\"maxLength\":255},\"args\":"                  \
                    "{\"type\":\"array\",\"items\":{}},\"id\":{\"type\":\"string\",\"format\":"    \
                    "\"uuid\"},\"meta\":{\"type\":\"object\"},\"options\":{\"type\":\"object\","   \
                    "\"properties\":{\"queue\":{\"type\":\"string\",\"maxLength\":128},"           \
                    "\"priority\":{\"type\":\"integer\",\"minimum\":-100,\"maximum\":100},"        \
                    "\"timeout_ms\":{\"type\":\"integer\",\"minimum\":0},\"scheduled_at\":"        \
                    "{\"type\":\"string\"},\"delay_until\":{\"type\":\"string\"},\"expires_at\":"  \
                    "{\"type\":\"string\"},\"retry\":{\"type\":\"object\"},\"unique\":"            \
                    "{\"type\":\"object\"},\"tags\":{\"type\":\"array\",\"items\":"                \
                    "{\"type\":\"string\"}},\"visibility_timeout_ms\":{\"type\":\"integer\"},"     \
                    "\"pending\":{\"type\":\"boolean\"}}}},\"additionalProperties\":true}")        \
    X("JobRequests", "{\"type\":\"object\",\"required\":[\"jobs\"],\"properties\":{\"jobs\":"      \
                     "{\"type\":\"array\",\"minItems\":1,\"items\":"                               \
                     "{\"$ref\":\"#/components/schemas/JobRequest\"}}}}")                          \
    X("Job", "{\"type\":\"object\",\"required\":[\"specversion\",\"id\",\"type\",\"queue\","       \
             "\"args\",\"meta\",\"priority\",\"state\",\"attempt\",\"max_attempts\","              \
             "\"created_at\"],\"properties\":{\"specversion\":{\"const\":\"1.0\"},\"id\":"         \
             "{\"type\":\"string\",\"format\":\"uuid\"},\"type\":{\"type\":\"string\"},"           \
             "\"queue\":{\"type\":\"string\"},\"args\":{\"type\":\"array\",\"items\":{}},"         \
             "\"meta\":{\"type\":\"object\"},\"priority\":{\"type\":\"integer\"},\"state\":"       \
             "{\"enum\":[\"scheduled\",\"available\",\"pending\",\"active\",\"retryable\","        \
             "\"completed\",\"cancelled\",\"discarded\"]},\"attempt\":{\"type\":\"integer\"},"     \
             "\"max_attempts\":{\"type\":\"integer\"},\"created_at\":{\"type\":\"string\","        \
             "\"format\":\"date-time\"},\"enqueued_at\":{\"type\":\"string\",\"format\":"          \
             "\"date-time\"},\"started_at\":{\"type\":\"string\",\"format\":\"date-time\"},"       \
             "\"completed_at\":{\"type\":\"string\",\"format\":\"date-time\"},\"result\":{},"      \
             "\"error\":{\"type\":\"object\"},\"errors\":{\"type\":\"array\",\"items\":"           \
             "{\"type\":\"object\"}}},\"additionalProperties\":true}")                             \
    X("JobReply", "{\"type\":\"object\",\"required\":[\"job\"],\"properties\":{\"job\":"           \
                  "{\"$ref\":\"#/components/schemas/Job\"}}}")                                     \
    X("JobsReply", "{\"type\":\"object\",\"required\":[\"jobs\"],\"properties\":{\"jobs\":"        \
                   "{\"type\":\"array\",\"items\":{\"$ref\":\"#/components/schemas/Job\"}}}}")     \
    X("WorkflowRequest",                                                                           \
      "{\"type\":\"object\",\"properties\":{\"type\":{\"enum\":[\"chain\",\"group\",\"batch\","    \
      "\"dag\"]},\"id\":{\"type\":\"string\",\"format\":\"uuid\"},\"name\":{\"type\":\"string\","  \
      "\"maxLength\":128},\"meta\":{\"type\":\"object\"},\"options\":{\"type\":\"object\"},"       \
      "\"steps\":{\"type\":\"array\",\"minItems\":1,\"items\":{\"type\":\"object\"}},\"jobs\":"    \
      "{\"type\":\"array\",\"minItems\":1,\"items\":{\"type\":\"object\"}},\"callbacks\":"         \
      "{\"type\":\"object\",\"properties\":{\"on_complete\":{\"type\":\"object\"},\"on_success\":" \
      "{\"type\":\"object\"},\"on_failure\":{\"type\":\"object\"}}},\"nodes\":{\"type\":"          \
      "\"array\","                                                                                 \
      "\"minItems\":1,\"items\":{\"type\":\"object\"}}},\"additionalProperties\":true}")           \
    X("Workflow",                                                                                  \
      "{\"type\":\"object\",\"required\":[\"id\",\"type\",\"name\",\"state\",\"created_at\","      \
      "\"progress\",\"metadata\"],\"properties\":{\"id\":{\"type\":\"string\",\"format\":"         \
      "\"uuid\"},"                                                                                 \
      "\"type\":{\"type\":\"string\"},\"name\":{\"type\":\"string\"},\"state\":{\"enum\":"         \
      "[\"running\",\"completed\",\"failed\",\"cancelled\"]},\"created_at\":{\"type\":\"string\"," \
      "\"format\":\"date-time\"},\"progress\":{\"type\":\"integer\"},\"steps_total\":"             \
      "{\"type\":\"integer\"},\"steps_completed\":{\"type\":\"integer\"},\"jobs_total\":"          \
      "{\"type\":\"integer\"},\"jobs_completed\":{\"type\":\"integer\"},\"steps\":"                \
      "{\"type\":\"array\",\"items\":{\"type\":\"object\"}},\"metadata\":{\"type\":\"object\"}},"  \
      "\"additionalProperties\":true}")                                                            \
    X("WorkflowReply", "{\"type\":\"object\",\"required\":[\"workflow\"],\"properties\":"          \
                       "{\"workflow\":{\"$ref\":\"#/components/schemas/Workflow\"}}}")             \
    X("WorkflowsReply", "{\"type\":\"object\",\"required\":[\"workflows\",\"pagination\"],"        \
                        "\"properties\":{\"workflows\":{\"type\":\"array\",\"items\":"             \
                        "{\"$ref\":\"#/components/schemas/Workflow\"}},\"pagination\":"            \
                        "{\"type\":\"object\"}}}")                                                 \
    X("Fetch", "{\"type\":\"object\",\"required\":[\"queues\"],\"properties\":{\"queues\":"        \
               "{\"type\":\"array\",\"minItems\":1,\"items\":{\"type\":\"string\"}},\"count\":"    \
               "{\"type\":\"integer\",\"minimum\":1,\"default\":1},\"worker_id\":"                 \
               "{\"type\":\"string\"},\"visibility_timeout_ms\":{\"type\":\"integer\"},"           \
               "\"wait_ms\":{\"type\":\"integer\",\"minimum\":0}}}")                               \
    X("Route",                                                                                     \
      "{\"type\":\"object\",\"required\":[\"queues\",\"worker_id\"],\"properties\":"               \
      "{\"queues\":{\"type\":\"array\",\"minItems\":1,\"items\":{\"type\":\"string\"}},"           \
      "\"worker_id\":{\"type\":\"string\"},\"count\":{\"type\":\"integer\",\"minimum\":1,"         \
      "\"default\":1},\"reserve_ms\":{\"type\":\"integer\",\"default\":5000},"                     \
      "\"wait_ms\":{\"type\":\"integer\",\"minimum\":0}}}")                                        \
    X("Routed", "{\"type\":\"object\",\"required\":[\"job_id\",\"worker_id\",\"token\"],"          \
                "\"properties\":{\"job_id\":{\"type\":\"string\",\"format\":\"uuid\"},"            \
                "\"worker_id\":{\"type\":\"string\"},\"token\":{\"type\":\"integer\"},"            \
                "\"assign_to\":{\"type\":\"string\"},"                                             \
                "\"visibility_timeout_ms\":{\"type\":\"integer\"}}}")                              \
    X("RoutesReply", "{\"type\":\"object\",\"required\":[\"routes\"],\"properties\":{\"routes\":"  \
                     "{\"type\":\"array\",\"items\":{\"type\":\"object\",\"properties\":{\"job\":" \
                     "{\"$ref\":\"#/components/schemas/Job\"},\"worker_id\":{\"type\":"            \
                     "\"string\"},\"token\":{\"type\":\"integer\"},\"reserved_until\":"            \
                     "{\"type\":\"string\",\"format\":\"date-time\"}}}}}}")                        \
    X("Ack", "{\"type\":\"object\",\"properties\":{\"job_id\":{\"type\":\"string\",\"format\":"    \
             "\"uuid\"},\"result\":{},\"worker_id\":{\"type\":\"string\"},\"attempt\":"            \
             "{\"type\":\"integer\"}}}")                                                           \
    X("Nack", "{\"type\":\"object\",\"properties\":{\"job_id\":{\"type\":\"string\",\"format\":"   \
              "\"uuid\"},\"error\":{\"type\":\"object\",\"properties\":{\"code\":"                 \
              "{\"type\":\"string\"},\"message\":{\"type\":\"string\"},\"type\":"                  \
              "{\"type\":\"string\"},\"retryable\":{\"type\":\"boolean\"},\"details\":"            \
              "{\"type\":\"object\"}}},\"requeue\":{\"type\":\"boolean\"},\"worker_id\":"          \
              "{\"type\":\"string\"},\"attempt\":{\"type\":\"integer\"}}}")                        \
    X("Event", "{\"type\":\"object\",\"required\":[\"specversion\",\"id\",\"type\",\"source\","    \
               "\"time\"],\"properties\":{\"specversion\":{\"const\":\"1.0\"},\"id\":"             \
               "{\"type\":\"string\"},\"type\":{\"type\":\"string\"},\"source\":"                  \
               "{\"type\":\"string\"},\"time\":{\"type\":\"string\",\"format\":\"date-time\"},"    \
               "\"subject\":{\"type\":\"string\"},\"data\":{\"type\":\"object\"}}}")               \
    X("EventsReply", "{\"type\":\"object\",\"required\":[\"events\",\"cursor\",\"has_more\"],"     \
                     "\"properties\":{\"events\":{\"type\":\"array\",\"items\":"                   \
                     "{\"$ref\":\"#/components/schemas/Event\"}},\"cursor\":"                      \
                     "{\"type\":\"string\"},\"has_more\":{\"type\":\"boolean\"}}}")

#endif
