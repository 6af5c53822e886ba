#!/bin/sh
# Makes sure that what a purpose needs is on this machine, and installs what is not.
#
# Usage: mk/setup.sh PURPOSE...      PURPOSE: build, run, image, bench, test, tidy or fuzz
#
# Says nothing when nothing is missing. Needs no compiler, no Python and no root by itself; asks
# sudo for root only when there is something to install.
set -eu

# One line each: purpose, Debian package, and what else shows that it is here: a command (a name), a
# header's pkg-config module (pc:NAME), or nothing but the package itself (-).
needs() {
    cat <<'END'
build gcc                gcc
build libc6-dev          /usr/include/stdio.h
build make               make
build meson              meson
build ninja-build        ninja
build pkgconf            pkg-config
build libsqlite3-dev     pc:sqlite3
build libpq-dev          pc:libpq
build libhiredis-dev     pc:hiredis
build libcurl4-openssl-dev pc:libcurl
build libuv1-dev         pc:libuv
build llhttp-dev         /usr/share/llhttp/llhttp.c
build libssl-dev         pc:libssl
build python3            python3
run   curl               curl
image libsqlite3-0       -
image libpq5             -
image libhiredis0.14     -
image libcurl4           -
image libuv1             -
image libssl3            -
image ca-certificates    -
image tini               tini
bench postgresql-15      /usr/lib/postgresql/15/bin/postgres
test  libcmocka-dev      pc:cmocka
test  libjansson-dev     pc:jansson
test  g++                g++
test  sqlite3            sqlite3
test  postgresql-15      /usr/lib/postgresql/15/bin/postgres
test  pgbouncer          /usr/sbin/pgbouncer
test  iproute2           ip
test  redis-server       redis-server
test  man-db             man
test  bash               bash
test  curl               curl
test  jq                 jq
test  openssl            openssl
test  python3-yaml       -
test  systemd            systemd-analyze
tidy  clang-14           clang-14
tidy  clang-format-14    clang-format-14
tidy  clang-tidy-14      clang-tidy-14
tidy  cppcheck           cppcheck
tidy  shellcheck         shellcheck
fuzz  clang-14           clang-14
fuzz  libclang-rt-14-dev -
END
}

say() {
    printf 'pawl: %s\n' "$*" >&2
}

have_package() {
    status=$(dpkg-query -W -f '${db:Status-Status}' "$1" 2>/dev/null) && [ "$status" = installed ]
}

# A hand-made tool serves as well as the package's.
have() {
    case $2 in
    pc:*) pkg-config --exists "${2#pc:}" 2>/dev/null || have_package "$1" ;;
    /*)   [ -e "$2" ] || have_package "$1" ;;
    -)    have_package "$1" ;;
    *)    command -v "$2" >/dev/null 2>&1 || have_package "$1" ;;
    esac
}

missing_for() {
    needs | while read -r purpose package sign; do
        [ "$purpose" = "$1" ] || continue
        have "$package" "$sign" || echo "$package"
    done
}

missing=
for purpose in "$@"; do
    case $purpose in
    build | run | image | bench | test | tidy | fuzz) ;;
    *) say "no such purpose: \"$purpose\""; exit 2 ;;
    esac
    missing="$missing $(missing_for "$purpose")"
done
missing=$(echo "$missing" | xargs -n 1 | sort -u | xargs)
[ -n "$missing" ] || exit 0

if ! command -v apt-get >/dev/null 2>&1; then
    say "these Debian packages, or what your system calls them, are needed: $missing"
    exit 1
fi
root=
if [ "$(id -u)" -ne 0 ]; then
    if ! command -v sudo >/dev/null 2>&1; then
        say "not root and no sudo; as root, run: apt-get install --no-install-recommends $missing"
        exit 1
    fi
    root=sudo
    [ -t 0 ] || root='sudo -n' # nobody is there to type a password
fi

log=$(mktemp)
trap 'rm -f "$log"' EXIT
apt() {
    $root env DEBIAN_FRONTEND=noninteractive apt-get -q -y \
        -o DPkg::Lock::Timeout=300 -o Acquire::Retries=3 "$@" >>"$log" 2>&1 </dev/null
}

say "installing $missing"
# A failed update is not the end: the lists that are there may do.
apt update || true
# shellcheck disable=SC2086 # a list of words
if ! apt install --no-install-recommends $missing; then
    cat "$log" >&2
    say "could not install: $missing"
    exit 1
fi
