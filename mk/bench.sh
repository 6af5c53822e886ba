#!/bin/sh
# Measures what is in build/ on one of the stores.
#
# Usage: mk/bench.sh STORE      STORE: sqlite or postgres
set -eu
case $1 in
sqlite)
    ninja -C build bench
    ;;
postgres)
    mk/setup.sh bench
    ninja -C build --quiet bench-postgres
    bench/postgres.py build
    ;;
*)
    echo "pawl: STORE is sqlite or postgres, not \"$1\"" >&2
    exit 2
    ;;
esac
