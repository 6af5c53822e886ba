#!/bin/sh
# Checks that the packages for a purpose are installed. On Debian, Ubuntu and their derivatives
# installs the missing ones; on other systems prints what to install, and how.
#
# Usage: mk/setup.sh PURPOSE...      PURPOSE: build, run, image, bench, unit, test, tidy,
#                                             fuzz or roots
#
# Prints nothing if nothing is missing. Needs no compiler, no Python and no root itself; uses sudo
# only if there is something to install.
set -eu
here=$(dirname "$0")

# One line each: purposes; signs that it is here, any of which will do (see `shows`); Debian
# packages that bring it, of which the first that this release has is taken (see `resolve`).
needs() {
    cat <<'END'
build cc              gcc
build h:stdio.h       libc6-dev
build make            make
build meson           meson
build ninja           ninja-build
build pkg-config      pkgconf|pkg-config
build pc:sqlite3      libsqlite3-dev
build pc:libpq        libpq-dev
build pc:hiredis      libhiredis-dev
build pc:libcurl      libcurl4-openssl-dev
build pc:libuv        libuv1-dev
build h:llhttp.h|/usr/share/llhttp/llhttp.c libllhttp-dev|node-llhttp
build pc:openssl      libssl-dev
build python3         python3
run,test,roots curl   curl
image so:libsqlite3   lib:libsqlite3-dev
image so:libpq        lib:libpq-dev
image so:libhiredis   lib:libhiredis-dev
image so:libcurl      lib:libcurl4-openssl-dev
image so:libuv        lib:libuv1-dev
image so:libllhttp    lib:libllhttp-dev|-
image so:libssl       lib:libssl-dev
image so:libcrypto    lib:libssl-dev
image /etc/ssl/certs/ca-certificates.crt ca-certificates
image tini            tini
bench,test tool:postgres postgresql
unit,test pc:cmocka   libcmocka-dev
unit,test pc:jansson  libjansson-dev
unit,test,image /usr/share/zoneinfo/Europe/Berlin tzdata
test  c++             g++
test  sqlite3         sqlite3
test  tool:pgbouncer  pgbouncer
test  ip              iproute2
test  redis-server    redis-server
test  man             man-db
test  bash            bash
test  jq              jq
test  openssl         openssl
test  py:yaml         python3-yaml
test  systemd-analyze systemd
tidy,fuzz tool:clang  clang
tidy  tool:clang-format clang-format-14|clang-format
tidy  tool:clang-tidy clang-tidy
tidy  cppcheck        cppcheck
tidy  shellcheck      shellcheck
fuzz  cc:-fsanitize=fuzzer libclang-rt-CLANG-dev|libclang-rt-dev
roots debootstrap     debootstrap
END
}

# What has a sign on systems without apt: Fedora, Arch, Alpine, Homebrew; "-" is part of the system
# or of another package here, or is not to be had.
elsewhere() {
    cat <<'END'
cc                 gcc                gcc             gcc               -
h:stdio.h          glibc-devel        glibc           musl-dev          -
make               make               make            make              make
meson              meson              meson           meson             meson
ninja              ninja-build        ninja           samurai           ninja
pkg-config         pkgconf-pkg-config pkgconf         pkgconf           pkgconf
pc:sqlite3         sqlite-devel       sqlite          sqlite-dev        sqlite
pc:libpq           libpq-devel        postgresql-libs libpq-dev         libpq
pc:hiredis         hiredis-devel      hiredis         hiredis-dev       hiredis
pc:libcurl         libcurl-devel      curl            curl-dev          curl
pc:libuv           libuv-devel        libuv           libuv-dev         libuv
h:llhttp.h|/usr/share/llhttp/llhttp.c llhttp-devel llhttp llhttp-dev    llhttp
pc:openssl         openssl-devel      openssl         openssl-dev       openssl@3
python3            python3            python          python3           python
curl               curl               curl            curl              curl
tool:postgres      postgresql-server  postgresql      postgresql        postgresql@17
pc:cmocka          libcmocka-devel    cmocka          cmocka-dev        cmocka
pc:jansson         jansson-devel      jansson         jansson-dev       jansson
/usr/share/zoneinfo/Europe/Berlin tzdata tzdata    tzdata            -
c++                gcc-c++            gcc             g++               -
sqlite3            sqlite             sqlite          sqlite            sqlite
tool:pgbouncer     pgbouncer          pgbouncer       pgbouncer         pgbouncer
ip                 iproute            iproute2        iproute2          -
redis-server       valkey-compat-redis valkey         redis             redis
man                man-db             man-db          man-db            -
bash               bash               bash            bash              bash
jq                 jq                 jq              jq                jq
openssl            openssl            openssl         openssl           openssl@3
py:yaml            python3-pyyaml     python-yaml     py3-yaml          libyaml
systemd-analyze    systemd            systemd         -                 -
tool:clang         clang              clang           clang             llvm
tool:clang-format  clang-tools-extra  clang           clang-extra-tools clang-format
tool:clang-tidy    clang-tools-extra  clang           clang-extra-tools llvm
cppcheck           cppcheck           cppcheck        cppcheck          cppcheck
shellcheck         ShellCheck         shellcheck      shellcheck        shellcheck
cc:-fsanitize=fuzzer compiler-rt      compiler-rt     compiler-rt       llvm
debootstrap        debootstrap        debootstrap     debootstrap       -
END
}

say() {
    printf 'pawl: %s\n' "$*" >&2
}

# each LIST COMMAND...: runs the command with the items of a list a|b|c until one succeeds
each() {
    list=$1
    shift
    while [ -n "$list" ]; do
        if "$@" "${list%%|*}"; then return 0; fi
        case $list in *'|'*) list=${list#*|} ;; *) list= ;; esac
    done
    return 1
}

clang_links() {
    clang=$("$here/find_tool.sh" clang) || return 1
    echo 'int LLVMFuzzerTestOneInput(void) { return 0; }' |
        "$clang" "$1" -xc - -o /dev/null 2>/dev/null
}

# Does this sign show, whatever package it came from?
shows() {
    case $1 in
    pc:*)   pkg-config --exists "${1#pc:}" 2>/dev/null ;;
    h:*)    echo "#include <${1#h:}>" | cc -E -xc - >/dev/null 2>&1 ;;
    so:*)   case $(ldconfig -p 2>/dev/null) in *"${1#so:}.so."*) ;; *) return 1 ;; esac ;;
    py:*)   python3 -c "import ${1#py:}" 2>/dev/null ;;
    cc:*)   clang_links "${1#cc:}" ;;
    tool:*) "$here/find_tool.sh" "${1#tool:}" >/dev/null ;;
    /*)     [ -e "$1" ] ;;
    *)      command -v "$1" >/dev/null 2>&1 ;;
    esac
}

# Until there is a pkg-config and a compiler, only dpkg knows of libraries.
has_package() {
    status=$(dpkg-query -W -f '${db:Status-Status}' "$1" 2>/dev/null) && [ "$status" = installed ]
}

# Lines of `needs` without the purpose.
missing_for() {
    needs | while read -r purposes signs packages; do
        case ,$purposes, in *,"$1",*) ;; *) continue ;; esac
        if ! each "$signs" shows && ! each "$packages" has_package; then
            echo "$signs $packages"
        fi
    done
}

# Asks apt about every package that may be wanted, at once: each question may cost a second.
ask_apt() {
    libraries=
    packages=
    for word in $(echo "$missing" | sed 's/^[^ ]* //; s/|/ /g'); do
        case $word in
        lib:*) libraries="$libraries ${word#lib:}" ;;
        *) packages="$packages $word" ;;
        esac
    done
    # shellcheck disable=SC2086 # lists of words
    known=$(LC_ALL=C apt-cache policy $packages 2>/dev/null) || :
    # shellcheck disable=SC2086
    depends=$(LC_ALL=C apt-cache depends $libraries 2>/dev/null) || :
}

# value_of TEXT HEADING PATTERN: the second word of the first line below the heading that matches
value_of() {
    echo "$1" | {
        heading=
        while read -r key value; do
            if [ -z "$value" ]; then
                heading=$key
                continue
            fi
            # shellcheck disable=SC2254 # a pattern
            case "$heading $key $value" in "$2 "$3) echo "$value"; return 0 ;; esac
        done
        return 1
    }
}

# resolve WORD: the name of a package that this release has, if it has it. lib:X-dev is the library
# that X-dev is for, whose name changes with its version; "-" is nothing, where nothing is needed.
resolve() {
    case $1 in
    -)     ;;
    lib:*) value_of "$depends" "${1#lib:}" 'Depends: lib*[0-9]' ||
        value_of "$depends" "${1#lib:}" 'Depends: lib*[0-9]t64' ;;
    *)     value_of "$known" "$1:" 'Candidate: [!(]*' >/dev/null && echo "$1" ;;
    esac
}

# What to ask apt for; CLANG is the version of the clang that is here. A name that apt does not have
# is left for it to complain of.
debian_names() {
    case $missing in
    *CLANG*)
        version=$("$("$here/find_tool.sh" clang)" -dumpversion 2>/dev/null) || version=
        missing=$(echo "$missing" | sed "s/CLANG/${version%%.*}/") ;;
    esac
    ask_apt
    echo "$missing" | while read -r _ packages; do
        each "$packages" resolve || { packages=${packages%%|*} && echo "${packages#lib:}"; }
    done | sort -u | xargs
}

# other_names MANAGER: what to ask another package manager for
other_names() {
    echo "$missing" | while read -r wanted _; do
        elsewhere | while read -r signs dnf pacman apk brew; do
            [ "$signs" = "$wanted" ] || continue
            case $1 in
            dnf)    echo "$dnf" ;;
            pacman) echo "$pacman" ;;
            apk)    echo "$apk" ;;
            brew)   echo "$brew" ;;
            esac
        done
    done | sort -u | xargs
}

# Says what is missing in the words of this system, and installs nothing.
tell() {
    for manager in 'dnf install' 'pacman -S --needed' 'apk add' 'brew install'; do
        command -v "${manager%% *}" >/dev/null 2>&1 || continue
        names=" $(other_names "${manager%% *}") "
        case $names in *' - '*) names="${names%% - *} ${names#* - }" ;; esac
        as='as root, run'
        if [ "$manager" = 'brew install' ]; then as=run; fi
        # shellcheck disable=SC2086 # one blank between words
        say "packages are missing; $as:" $manager $names
        return
    done
    say "packages are missing; install your system's equivalents of these Debian packages:" \
        "$(echo "$missing" | while read -r _ packages; do echo "${packages%%|*}"; done | xargs)"
}

missing=
for purpose in "$@"; do
    case $purpose in
    build | run | image | bench | unit | test | tidy | fuzz | roots) ;;
    *) say "unknown purpose: \"$purpose\""; exit 2 ;;
    esac
    missing=$(printf '%s\n%s\n' "$missing" "$(missing_for "$purpose")")
done
missing=$(echo "$missing" | sort -u)
[ -n "$missing" ] || exit 0
if ! command -v apt-get >/dev/null 2>&1; then
    tell
    exit 1
fi

root=
if [ "$(id -u)" -ne 0 ]; then
    if ! command -v sudo >/dev/null 2>&1; then
        say "not root and no sudo; as root, run: apt-get install --no-install-recommends" \
            "$(debian_names)"
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

# A failed update is not the end: the lists that are there may do.
apt update || true
names=$(debian_names)
[ -n "$names" ] || exit 0
say "installing $names"
# shellcheck disable=SC2086 # a list of words
if ! apt install --no-install-recommends $names; then
    cat "$log" >&2
    say "could not install: $names"
    exit 1
fi
