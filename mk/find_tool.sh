#!/bin/sh
# Prints the path of a tool that systems install under different names or in separate directories:
# the newest suitable version. Prints nothing and fails if there is none.
#
# Usage: mk/find_tool.sh TOOL [VERSION]      TOOL: a name from the list below
#
# With VERSION, only that major version is suitable. Needs only a shell.
set -eu

# Name, oldest suitable major version, and directories beside the PATH: these come first, since they
# also contain the files that belong to the tool.
tools() {
    cat <<'END'
clang        14 /usr/lib/llvm*/bin:/usr/lib/llvm/*/bin:/opt/homebrew/opt/llvm*/bin
clang-format 14 /usr/lib/llvm*/bin:/usr/lib/llvm/*/bin:/opt/homebrew/opt/llvm*/bin
clang-tidy   14 /usr/lib/llvm*/bin:/usr/lib/llvm/*/bin:/opt/homebrew/opt/llvm*/bin
pgbouncer    1  /usr/sbin:/usr/local/sbin
postgres     13 /usr/lib/postgresql/*/bin:/usr/pgsql-*/bin:/usr/libexec/postgresql*
END
}

# The first number in its output: "Debian clang version 14.0.6", "postgres (PostgreSQL) 17.6".
major_of() {
    said=$("$1" --version 2>/dev/null) || return 1
    said=${said#"${said%%[0-9]*}"}
    echo "${said%%[!0-9]*}"
}

# find TOOL OLDEST NEWEST DIRS
find() {
    best=
    best_major=$(($2 - 1))
    set -f # split into directories first, each a pattern
    IFS=:
    for dir in $4 $PATH; do
        set +f
        IFS=
        # shellcheck disable=SC2231 # patterns, and split no further
        for path in $dir/"$1" $dir/"$1"-[0-9]*; do
            if [ ! -f "$path" ] || [ ! -x "$path" ]; then continue; fi
            major=$(major_of "$path") || continue
            if [ "${major:-0}" -gt "$best_major" ] && [ "${major:-0}" -le "$3" ]; then
                best=$path
                best_major=$major
            fi
        done
    done
    [ -n "$best" ] && printf '%s\n' "$best"
}

row=$(tools | while read -r name oldest dirs; do
    if [ "$name" = "${1:-}" ]; then echo "$oldest $dirs"; fi
done)
if [ -z "$row" ]; then
    echo "usage: mk/find_tool.sh TOOL [VERSION]" >&2
    exit 2
fi
find "$1" "${2:-${row%% *}}" "${2:-999}" "${row#* }"
