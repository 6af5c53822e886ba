#!/usr/bin/env bash
# Fuzzes every parser for a while, one on each processor, under AddressSanitizer and UBSan.
#
# Usage: FUZZ_SECONDS=N mk/fuzz.sh [TAP_FILE]
#
# Seeds are tests/fuzz/corpus/NAME; inputs found by a run stay in build-fuzz/corpus/NAME, so that
# the next one continues from there; inputs that cause failures are left in build-fuzz/broken/.
set -u
cd "$(dirname "$0")/.." || exit 1
seconds=${FUZZ_SECONDS:-60}
tap=${1:-/dev/null}
dir=build-fuzz

tell() {
    echo "$*" | tee -a "$tap"
}

# Old sanitizer runtimes cannot place their shadow memory where newer kernels randomise more bits.
fixed_addresses=()
if setarch -R true 2>/dev/null; then
    fixed_addresses=(setarch -R)
fi

# Only the fuzzers: no other program is built in this directory. Optimized only as needed.
clang=$(mk/find_tool.sh clang) || clang=clang
if ! CC=$clang mk/configure.sh $dir -Doptimization=1 -Ddebug=false -Dc_args=-g1 \
        -Db_lundef=false -Db_sanitize=address,undefined -Dtests=false -Dbench=false -Dfuzz=true ||
    ! ninja -C $dir --quiet fuzzers; then
    tell "not ok 1 - the fuzzers build"
    exit 1
fi
mapfile -t targets < <(find $dir/tests/fuzz -maxdepth 1 -type f -name 'fuzz_*' -executable | sort)
mkdir -p $dir/broken

# fuzz PROGRAM: its exit status; what it said is in $dir/NAME.log.
fuzz() {
    local name=${1##*/fuzz_}
    mkdir -p "$dir/corpus/$name"
    local corpora=("$dir/corpus/$name")
    [ -d "tests/fuzz/corpus/$name" ] && corpora+=("tests/fuzz/corpus/$name")
    exec "${fixed_addresses[@]}" "$1" -max_total_time="$seconds" -timeout=10 \
        -rss_limit_mb=1024 -artifact_prefix="$dir/broken/$name-" -print_final_stats=1 \
        "${corpora[@]}" >"$dir/$name.log" 2>&1
}

# As many at once as there are processors, each of them alone.
failed=0
at_once=$(nproc)
tell "1..${#targets[@]}"
for ((first = 0; first < ${#targets[@]}; first += at_once)); do
    batch=("${targets[@]:first:at_once}")
    pids=()
    for target in "${batch[@]}"; do
        fuzz "$target" &
        pids+=($!)
    done
    for i in "${!batch[@]}"; do
        name=${batch[i]##*/fuzz_}
        log=$dir/$name.log
        if wait "${pids[i]}"; then
            runs=$(sed -n 's/^stat::number_of_executed_units: *//p' "$log")
            tell "ok $((first + i + 1)) - $name: ${runs:-?} inputs in $seconds s"
        else
            tell "not ok $((first + i + 1)) - $name: see $log and $dir/broken"
            tail -n 40 "$log" | sed 's/^/# /'
            failed=1
        fi
    done
done
exit $failed
