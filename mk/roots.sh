#!/usr/bin/env bash
# Tests pawl on other systems: in a minimal chroot of each, with nothing but make installed, runs
# `make run` and then the quick tests.
#
# Usage: mk/roots.sh [TAP_FILE [SUITE...]]      SUITE: trixie (Debian 13) or noble (Ubuntu 24.04)
#
# debootstrap creates a chroot from the mirror of this machine's apt; it stays in build-roots/ with
# the downloaded packages. Each run works on an overlay above it, in separate namespaces: everything
# it installs, mounts and starts is gone when it ends. Without root or a network the tests are
# skipped; so is a chroot that cannot be created or takes longer than PAWL_ROOT_SECONDS (1800),
# since that says nothing about pawl.
# shellcheck disable=SC2016,SC2317 # expanded in the root; called by name
set -u
cd "$(dirname "$0")/.." || exit 1
tap=${1:-/dev/null}
roots=$PWD/build-roots
logs=$PWD/build-results
seconds_max=${PAWL_ROOT_SECONDS:-1800} # three to four minutes on a machine that is idle

tell() {
    echo "$*" | tee -a "$tap"
}

# ---- prerequisites ----

# Suite, name, usual mirror, components, who signs it, and the script for a debootstrap that is
# older than the suite.
systems() {
    cat <<'END'
trixie Debian-13    http://deb.debian.org/debian/     main          debian sid
noble  Ubuntu-24.04 http://archive.ubuntu.com/ubuntu/ main,universe ubuntu gutsy
END
}

# The mirror of this machine's apt if it is one of the same system, else the usual one.
choose_mirror() {
    { apt-get indextargets --format "\$(REPO_URI)" 'Created-By: Packages' 2>/dev/null
        echo "$1"; } | grep "/$(basename "$1")/\$" | head -n 1
}

# In namespaces of our own; not in most containers.
can_layer() {
    local try=$roots/layer.try
    mkdir -p "$try/lower" "$try/upper" "$try/work"
    unshare --mount --pid --fork mount -t overlay overlay \
        -o "lowerdir=$try/lower,upperdir=$try/upper,workdir=$try/work" "$try/lower" 2>/dev/null
}

# Why a root of $suite cannot be made or used here; nothing if it can.
obstacle() {
    if [ "$(id -u)" -ne 0 ]; then
        echo 'not root'
    elif ! command -v debootstrap >/dev/null; then
        echo 'debootstrap is not installed (mk/setup.sh roots)'
    elif ! can_layer; then
        echo 'overlay file systems cannot be mounted here'
    elif ! curl -fsS -m 30 -o /dev/null "${mirror}dists/$suite/InRelease" 2>/dev/null; then
        echo "no $suite at $mirror"
    elif [ ! -e "$keyring" ]; then
        echo "the keys of $signer, which sign the packages, are not installed"
    fi
}

# ---- roots ----

# enter COMMAND: runs it in an overlay above the chroot, which is removed afterwards.
enter() {
    local layer status
    layer=$(mktemp -d "$roots/layer.XXXXXX")
    mkdir "$layer/upper" "$layer/work" "$layer/root"
    timeout --foreground "$seconds_max" unshare --mount --pid --fork --kill-child bash -ec '
        mount -t overlay overlay -o "lowerdir=$1,upperdir=$2/upper,workdir=$2/work" "$2/root"
        cd "$2/root"
        mount -t proc proc proc
        mount --rbind /dev dev
        mount --bind "$3" var/cache/apt/archives
        mkdir pawl
        tar -c -C "$4" --exclude=./build --exclude="./build-*" --exclude=./.git . | tar -x -C pawl
        exec chroot . env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/root LANG=C.UTF-8 \
            sh -ec "cd /pawl; $5"
    ' enter "$roots/$suite" "$layer" "$roots/$suite.packages" "$PWD" "$1" </dev/null
    status=$?
    rm -rf --one-file-system "$layer"
    return $status
}

# Debian 12 has no keys of Ubuntu's, Debian 13 has them in a package.
find_keyring() {
    keyring=/usr/share/keyrings/$signer-archive-keyring.gpg
    if [ ! -e "$keyring" ] && [ -e "$roots/trixie.ready" ]; then
        local from=$keyring
        keyring=$roots/trixie.packages/${from##*/}
        [ -e "$keyring" ] || suite=trixie enter "apt-get update
            apt-get install -y --no-install-recommends $signer-keyring
            cp $from /var/cache/apt/archives/" >"$logs/keys.log" 2>&1
    fi
}

make_root() {
    local script=() proxy=
    [ -e "$roots/$suite.ready" ] && return
    rm -rf "${roots:?}/$suite"
    mkdir -p "$roots/$suite.packages/partial"
    [ -e "/usr/share/debootstrap/scripts/$suite" ] || script=("$older")
    eval "$(apt-config shell proxy Acquire::http::Proxy 2>/dev/null)"
    http_proxy=${proxy:-${http_proxy:-}} debootstrap --variant=minbase --include=make \
        --components="$components" --keyring="$keyring" --cache-dir="$roots/$suite.packages" \
        "$suite" "$roots/$suite" "$mirror" "${script[@]}" || return
    # Nothing here has to survive a power cut.
    echo force-unsafe-io >"$roots/$suite/etc/dpkg/dpkg.cfg.d/unsafe"
    if [ -n "$proxy" ]; then
        echo "Acquire::http::Proxy \"$proxy\";" >"$roots/$suite/etc/apt/apt.conf.d/proxy"
    fi
    touch "$roots/$suite.ready"
}

# ---- the tests ----

# The tests are not optimised: they are built for one run.
commands='make run
mk/setup.sh build unit
mk/configure.sh build-test -Dbuildtype=plain -Dbench=false
ninja -C build-test --quiet $(mk/needed.py build-test --suite=unit) pawl src/store/pawl-remote.so
export PAWL_TEST_SCALE=20
meson test -C build-test --no-rebuild --print-errorlogs --suite unit
meson test -C build-test --no-rebuild --print-errorlogs remote_trouble deploy'

number=0
failed=0
# try WHAT: does it in a root; its output goes to a file.
try() {
    local log status
    number=$((number + 1))
    log=$logs/roots-$number.log
    enter "$commands" >"$log" 2>&1
    status=$?
    case $status in
    0) tell "ok $number - $1" ;;
    124) tell "ok $number - $1 # SKIP not done after $seconds_max s" ;;
    *)
        tell "not ok $number - $1: see $log"
        tail -n 40 "$log" | sed 's/^/# /'
        failed=1
        ;;
    esac
}

skip() {
    number=$((number + 1))
    tell "ok $number - $1 # SKIP $2"
}

mkdir -p "$roots" "$logs"
rm -rf --one-file-system "$roots"/layer.*
shift
wanted=" ${*:-trixie noble} "
while read -r suite name mirror components signer older; do
    [[ $wanted == *" $suite "* ]] || continue
    mirror=$(choose_mirror "$mirror")
    name=${name/-/ }
    find_keyring
    why=$(obstacle)
    if [ -n "$why" ]; then
        skip "$name" "$why"
        continue
    fi
    if ! make_root >"$logs/roots-$suite.log" 2>&1; then
        skip "$name" "no root could be made: see $logs/roots-$suite.log"
        continue
    fi
    try "$name: make run, and the quick tests"
done < <(systems)
tell "1..$number"
exit $failed
