#!/bin/sh
# Demonstrates pawl: a server and a node on a temporary store, which is removed afterwards.
#
# Usage: mk/demo.sh BINARY
# shellcheck disable=SC2016 # commands are shown as they are typed, and expanded by eval
set -eu
if [ $# -ne 1 ] || [ ! -x "$1" ]; then
    echo "usage: mk/demo.sh BINARY" >&2
    exit 2
fi
binary=$(cd "$(dirname "$1")" && pwd)/$(basename "$1")
place=$(mktemp -d)
server=
node=

# A second signal: does not wait for running jobs.
end() {
    kill "$1" 2>/dev/null && kill "$1" 2>/dev/null
    wait "$1" 2>/dev/null || :
}

leave() {
    trap '' INT TERM
    if [ -n "$node" ]; then end "$node"; fi
    if [ -n "$server" ]; then end "$server"; fi
    rm -rf "$place"
}
trap leave EXIT
trap 'exit 130' INT TERM
cd "$place"
mkdir bin
ln -s "$binary" bin/pawl
PATH=$place/bin:$PATH
# Only what is shown here counts, not what this user has set.
unset PAWL_STORE PAWL_CONFIG PAWL_JSON PAWL_QUIET PAWL_VOCABULARY PAWL_DURABILITY PAWL_LISTEN \
    PAWL_SERVER PAWL_TOKEN PAWL_LOG_FORMAT PAWL_LOG_LEVEL

# On a terminal, time to read; elsewhere, none.
pause() {
    if [ -t 1 ]; then sleep "$1"; fi
}

say() {
    printf '\n# %s\n' "$*"
    pause 1
}

# Shows a command as one would type it, and runs it.
run() {
    printf '$ %s\n' "$1"
    pause 0.3
    eval "$1"
}

# Waits, with a bound, until a command succeeds.
await() {
    tries=0
    until eval "$1"; do
        tries=$((tries + 1))
        if [ $tries -gt 600 ]; then
            echo "mk/demo.sh: timed out waiting for: $1" >&2
            exit 1
        fi
        sleep 0.1
    done
}

# The id of the job in a reply.
id_in() {
    sed -n 's/.*"job":{[^}]*"id":"\([^"]*\)".*/\1/p' "$1"
}

bar() {
    printf '\r\033[K['
    printf "%$(($1 * 40 / $2))s" '' | tr ' ' '#'
    printf "%$((40 - $1 * 40 / $2))s] %d of %d jobs have ended" '' "$1" "$2"
}

# Whether all jobs have ended; on a terminal, a bar shows how many.
all_ended() {
    all=$(pawl list --count)
    left=$(pawl list --count --state available,active,scheduled,retryable)
    if [ -t 1 ]; then bar $((all - left)) "$all"; fi
    [ "$left" -eq 0 ]
}

say 'A server: the Open Job Spec over HTTP, on a new SQLite file.'
cat <<'END'
$ pawl serve --listen 127.0.0.1:0 >server.log 2>&1 &
END
pawl serve --listen 127.0.0.1:0 >server.log 2>&1 </dev/null &
server=$!
await 'grep -q http: server.log'
run 'cat server.log'
run "url=$(sed -n 's/.*\(http:[^ ]*\).*/\1/p' server.log)"

say 'A node: it claims jobs from queues of that file and runs the command for their type.'
cat <<'END'
$ pawl work --log-format text --workers 4 --queue default --queue images=2 --queue mail=1 \
    --exec 'sysinfo=uname -sr' \
    --exec 'mail.send=sleep 0.2; echo "sent to $PAWL_ARGS" | tee -a sent.log' \
    --exec 'image.resize=sleep 0.1' \
    --exec 'invoice.fetch=test $PAWL_ATTEMPT = 3 || { echo "server is busy" >&2; exit 75; }' \
    --exec 'invoice.pay=echo "card was refused" >&2; exit 1' \
    --exec 'video.encode=sleep 600' 2>node.log &
END
pawl work --log-format text --workers 4 --queue default --queue images=2 --queue mail=1 \
    --exec 'sysinfo=uname -sr' \
    --exec 'mail.send=sleep 0.2; echo "sent to $PAWL_ARGS" | tee -a sent.log' \
    --exec 'image.resize=sleep 0.1' \
    --exec 'invoice.fetch=test $PAWL_ATTEMPT = 3 || { echo "server is busy" >&2; exit 75; }' \
    --exec 'invoice.pay=echo "card was refused" >&2; exit 1' \
    --exec 'video.encode=sleep 600' 2>node.log </dev/null &
node=$!
await 'grep -q "is up" node.log'
run 'cat node.log'

say 'A job has a type and arguments. It is on disk before the reply is sent, and runs at once.'
run 'jobs=$url/ojs/v1/jobs'
run 'curl -s $jobs --json '\''{"type":"sysinfo","args":[]}'\'' | tee reply; echo'
id=$(id_in reply)
await '[ "$(pawl list --count --type sysinfo --state completed)" = 1 ]'
run "curl -s \$jobs/$id; echo"

say 'A delayed job, one that fails twice, and one that fails for good.'
run 'curl -s $jobs --json '\''{"type":"mail.send","args":["dan@example.com"],
  "options":{"scheduled_at":"+PT2S"}}'\'' >reply'
run 'curl -s $jobs --json '\''{"type":"invoice.fetch","args":[],
  "options":{"retry":{"initial_interval":"PT0.5S"}}}'\'' >reply'
flaky=$(id_in reply)
run 'curl -s $jobs --json '\''{"type":"invoice.pay","args":[],
  "options":{"retry":{"max_attempts":2,"initial_interval":"PT0.5S"}}}'\'' >reply'

say 'Priority decides which job runs next. The queue is paused while jobs are added.'
run 'curl -s -X POST $url/ojs/v1/queues/mail/pause; echo'
run 'curl -s $jobs/batch --json '\''{"jobs":[
  {"type":"mail.send","args":["ann@example.com"],"options":{"queue":"mail"}},
  {"type":"mail.send","args":["bob@example.com"],"options":{"queue":"mail","priority":-10}},
  {"type":"mail.send","args":["urgent@example.com"],"options":{"queue":"mail","priority":50}}
  ]}'\'' >reply'
run 'curl -s -X POST $url/ojs/v1/queues/mail/resume >reply'

say 'A job that is cancelled while it runs: its processes are killed.'
run 'curl -s $jobs --json '\''{"type":"video.encode","args":[]}'\'' >reply'
film=$(id_in reply)
await '[ "$(pawl list --count --type video.encode --state active)" = 1 ]'
run "curl -s -X DELETE \$jobs/$film; echo"

say 'A hundred jobs, from the command line; at most two run at a time, as set for the queue.'
run 'seq 100 | sed '\''s/.*/{"type":"image.resize","queue":"images"}/'\'' | pawl submit -'

say 'Number of jobs, all of which have ended.'
await all_ended
if [ -t 1 ]; then printf '\r\033[K'; fi
run 'pawl list --count'

say 'Their final states.'
run 'pawl list --queue default --queue mail --oldest-first'
run 'cat sent.log'

say 'The job that failed twice, with its history.'
run "pawl show $flaky"

say 'A flow: jobs that wait for others.'
cat >album.json <<'END'
{"name": "album", "nodes": [
  {"name": "unpack", "type": "sysinfo"},
  {"name": "small", "type": "image.resize", "after": "unpack"},
  {"name": "large", "type": "image.resize", "after": "unpack"},
  {"name": "tell", "type": "mail.send", "args": ["ann@example.com"], "after": ["small", "large"]}]}
END
run 'cat album.json'
run 'pawl flow wait $(pawl flow submit album.json)'
flow=$(pawl flow list --json | sed -n 's/.*"id":"\([^"]*\)".*/\1/p')
run "pawl flow show $flow"

say 'A recurring job: each second here, twice; the other one on weekdays at 9.'
run 'pawl cron add tick "* * * * * *" sysinfo --overlap allow --max-runs 2'
run 'pawl cron add report "0 9 * * 1-5" mail.send --zone Europe/Berlin'
await '[ "$(pawl cron list --state exhausted --json)" != "[]" ]'
await all_ended
if [ -t 1 ]; then printf '\r\033[K'; fi
run 'pawl cron list'
run 'pawl cron history tick'

say 'Statistics, and a check for damage.'
run 'pawl stats'
run 'pawl check'

say 'For programs: events, and metrics of this server; "pawl work --metrics" has those of a node.'
run 'curl -s "$url/ojs/v1/events?types=job.cancelled"; echo'
run 'curl -s $url/metrics | grep ^ojs_job_enqueued_total'

say 'A node that is told to stop finishes the jobs it is running.'
run 'kill $node $server'
wait "$node" "$server" || :
node=
server=
run 'tail -n 1 node.log'

cat <<'END'

The temporary store has been removed. To go on:
  build/pawl serve          a server on 127.0.0.1:8080; /openapi.json lists its routes
  build/pawl help           every command; "pawl COMMAND --help" explains one
  README.md                 what pawl guarantees, and how to embed it in C
  docs/                     HTTP, architecture, lifecycle, the commands in full
END
