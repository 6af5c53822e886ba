#!/bin/sh
# Configures a build directory, and reconfigures it if the options differ.
#
# Usage: mk/configure.sh DIR [meson options...]
set -eu
dir=$1
shift
wanted="CC=${CC:-} $*"
asked="$dir/.pawl-options"
if [ -f "$dir/build.ninja" ] && [ "$(cat "$asked" 2>/dev/null)" = "$wanted" ]; then
    exit 0
fi
log=$(mktemp)
trap 'rm -f "$log"' EXIT
# A directory made for another compiler, or left incomplete, cannot be reconfigured.
rm -rf "$dir"
if ! meson setup "$dir" "$@" >"$log" 2>&1; then
    cat "$log" >&2
    exit 1
fi
printf '%s\n' "$wanted" >"$asked"
