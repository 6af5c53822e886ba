#!/bin/sh
# The first minute with pawl: real commands on a store of its own, which is gone afterwards.
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
trap 'rm -rf "$place"' EXIT
trap 'exit 130' INT TERM
cd "$place"
# Only what is shown here counts, not what this user has set.
unset PAWL_STORE PAWL_CONFIG PAWL_JSON PAWL_QUIET PAWL_VOCABULARY PAWL_DURABILITY
pawl() { "$binary" "$@"; }

# On a terminal, time to read; elsewhere, none.
pause() {
    if [ -t 1 ]; then sleep "$1"; fi
}

say() {
    printf '\n# %s\n' "$*"
    pause 0.6
}

# Shows a command as one would type it, and runs it.
run() {
    printf '$ %s\n' "$1"
    pause 0.2
    eval "$1"
}

# The same for one that must be refused.
refused() {
    if run "$1"; then
        echo "mk/demo.sh: this should have been refused" >&2
        exit 1
    fi
    echo "(exit code 1)"
}

say 'A job has a type and arguments. It is on disk before its id is printed.'
run 'pawl submit mail.send '\''["ann@example.com"]'\'

say 'It can wait for its time, and overtake others.'
run 'pawl submit report.build --delay 10m --queue reports'
run 'pawl submit mail.send '\''["urgent@example.com"]'\'' --priority 50 --tag vip'

say 'The same job twice? Once, if it says so; or the first one again, for the same key.'
run 'pawl submit sync.run '\''[7]'\'' --unique type,args'
refused 'pawl submit sync.run '\''[7]'\'' --unique type,args'
run 'pawl submit invoice.pay --key invoice-1001'
run 'pawl submit invoice.pay --key invoice-1001'

say 'Many at once, as JSON Lines.'
run 'seq 1000 | sed '\''s/.*/{"type":"resize","queue":"images","args":[&]}/'\'' | pawl submit -'

say 'What is there? (--json for programs)'
run 'pawl list --queue default'
run 'pawl stats'

say 'Operators step in. Every deed is kept with its author and reason.'
id=$("$binary" --quiet submit mail.send '["bob@example.com"]')
run "id=$id"
run 'pawl pause $id --reason "address is being checked"'
run 'pawl resume $id'
run 'pawl priority $id 10'
run 'pawl cancel $id --reason "wrong address"'
run 'pawl retry $id --reason "address is right after all"'
run 'pawl show $id'

say 'The same for thousands: counted first, then done.'
run 'pawl cancel --all-matching --queue images --yes'
run 'pawl queue pause reports'
run 'pawl queue'

say 'Jobs that were given up would be listed here, to be retried or deleted.'
run 'pawl dead'

say 'Looking after the store, while it is in use.'
run 'pawl check'
run 'pawl backup copy.db'

cat <<'END'

Nothing of this is left on your disk. To go on:
  build/pawl help           every command; "pawl COMMAND --help" explains one
  README.md                 what pawl guarantees, and how to embed it in C
  docs/                     architecture, lifecycle, the commands in full
END
