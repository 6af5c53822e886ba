#!/bin/sh
# Runs the benchmarks of build/ on one of the stores.
#
# Usage: mk/bench.sh STORE [SECONDS]      STORE: sqlite or postgres
#
# SECONDS: runs the soak test for this long instead.
set -eu
soak=${2:-}
case $1 in
sqlite)
    [ -z "$soak" ] || { echo 'pawl: SOAK requires STORE=postgres' >&2; exit 2; }
    ninja -C build bench
    ;;
postgres)
    mk/setup.sh bench
    ninja -C build --quiet bench-postgres
    if [ -n "$soak" ]; then
        bench/postgres.py build --only soak --soak "$soak" --json build/bench-soak.json
    else
        bench/postgres.py build
    fi
    ;;
*)
    echo "pawl: STORE must be sqlite or postgres, not \"$1\"" >&2
    exit 2
    ;;
esac
