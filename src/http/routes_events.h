/* Routes of events; see routes.h. */
#ifndef PAWL_HTTP_ROUTES_EVENTS_H
#define PAWL_HTTP_ROUTES_EVENTS_H

#define PAWL__ROUTES_EVENTS(X)                                                                     \
    X("GET", "/ojs/v1/events", events, READ, LOOP, "What happened, oldest first")                  \
    X("GET", "/ojs/v1/events/stream", event_stream, READ, LOOP, "Events as they happen (SSE)")     \
    X("GET", "/ojs/v1/events/jobs/{id}", job_events, READ, LOOP, "A job's events (SSE)")           \
    X("GET", "/ojs/v1/events/queues/{name}", queue_events, READ, LOOP, "A queue's events (SSE)")   \
    X("GET", "/ojs/v1/jobs/{id}/events", job_events, READ, LOOP, "A job's events (SSE)")           \
    X("GET", "/ojs/v1/queues/{name}/events", queue_events, READ, LOOP, "A queue's events (SSE)")   \
    X("GET", "/ojs/v1/jobs/{id}/progress/stream", progress_stream, READ, LOOP,                     \
      "A job's progress as it comes (SSE)")

#endif
