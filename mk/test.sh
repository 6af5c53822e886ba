#!/usr/bin/env bash
# Runs the given test steps, all of them even if one fails, and prints a summary.
#
# Usage: mk/test.sh [--only=PATTERN] STEP...
#
#   plain    all tests but the suite "long"         tsan    those with threads, ThreadSanitizer
#   checks   the quick checks of mk/tidy.py         tidy    the slow checks of mk/tidy.py
#   all      plain and the suite "long"             fuzz    every parser, for a short time
#   asan     most tests, AddressSanitizer, UBSan    roots   Debian 13 (mk/roots.sh)
#
# --only: of plain, all, asan and tsan, only tests whose name matches the shell pattern ("http_*").
#
# PAWL_TEST_SCALE is the percentage of rounds that the long-running suites run: 50 by default, a
# fifth of that under sanitizers, which are about five times slower. Suites that run the binary from
# outside for long are not run under sanitizers, except for the server's; neither is "slow", since
# the in-memory store takes the same paths.
set -u
cd "$(dirname "$0")/.." || exit 1
results=build-results
scale=${PAWL_TEST_SCALE:-50}
tsan_suites=(base store sqlite api engine contract threads)
not_asan_suites=(cli cluster conformance deploy docs install postgres remote slow tidy wake work)
processes=$(($(nproc) * 3)) # tests wait more than they compute
sanitized_processes=$(($(nproc) * 2))

# Old sanitizer runtimes cannot place their shadow memory where newer kernels randomise more bits.
fixed_addresses=()
if setarch -R true 2>/dev/null; then
    fixed_addresses=(setarch -R)
fi

say() {
    printf '\n== %s\n' "$*"
}

# Built quickly: less optimisation, no warnings, since the plain build reports those, and of the
# debugging information only line numbers, which the reports need.
quick_to_build=(-Doptimization=1 -Ddebug=false '-Dc_args=-g1 -w' -Dbench=false)

# meson_step STEP SCALE CONFIGURE_ARGS... -- SUITES...
# Builds what these tests need and runs them. Leaves the log in $results/STEP.json; without one the
# tally counts a failure. A few programs that failed beside others are run once more, alone:
# mk/tally.py says which, and what that is worth.
meson_step() {
    local step=$1 percent=$2 dir=build-$1 options=() targets names again
    shift 2
    case $step in plain | all) dir=build-test ;; esac
    while [ "$1" != -- ]; do
        options+=("$1")
        shift
    done
    shift
    mk/configure.sh "$dir" "${options[@]}" || return
    ninja -C "$dir" --quiet build.ninja || return # the lists of tests and targets are of today
    read -ra names <<<"$(mk/needed.py "$dir" --names "${only[@]}" "$@")"
    [ ${#names[@]} -gt 0 ] || return
    read -ra targets <<<"$(mk/needed.py "$dir" "${only[@]}" "$@")"
    [ ${#targets[@]} -eq 0 ] || ninja -C "$dir" --quiet "${targets[@]}" || return
    rm -f "$dir"/meson-logs/testlog*
    PAWL_TEST_SCALE=$percent "${wrapper[@]}" \
        meson test -C "$dir" --no-rebuild --print-errorlogs --num-processes "$processes" \
        --timeout-multiplier "$patience" "${names[@]}"
    cp "$dir/meson-logs/testlog.json" "$results/$step.json"
    again=$(mk/tally.py --again "$results/$step.json") || return
    say "$step, once more and alone: $again"
    # shellcheck disable=SC2086 # one word each
    PAWL_TEST_SCALE=$percent "${wrapper[@]}" \
        meson test -C "$dir" --no-rebuild --print-errorlogs --num-processes 1 \
        --timeout-multiplier "$patience" $again
    cp "$dir/meson-logs/testlog.json" "$results/$step.again.json"
}

step_plain() {
    wrapper=() patience=4
    meson_step plain "$scale" -- --no-suite=long
}

step_all() {
    wrapper=() patience=4
    meson_step all "$scale" --
}

step_asan() {
    wrapper=("${fixed_addresses[@]}") patience=4 processes=$sanitized_processes
    export ASAN_OPTIONS=detect_stack_use_after_return=1:strict_string_checks=1
    export UBSAN_OPTIONS=halt_on_error=1:print_stacktrace=1
    meson_step asan $((scale / 5)) "${quick_to_build[@]}" -Db_sanitize=address,undefined -- \
        "${not_asan_suites[@]/#/--no-suite=}"
}

step_tsan() {
    wrapper=("${fixed_addresses[@]}") patience=8 processes=$sanitized_processes
    export TSAN_OPTIONS=halt_on_error=1:abort_on_error=1:second_deadlock_stack=1
    meson_step tsan $((scale / 5)) "${quick_to_build[@]}" -Db_sanitize=thread -- \
        "${tsan_suites[@]/#/--suite=}"
}

step_checks() {
    mk/tidy.py --tap "$results/checks.tap" --quick
}

step_tidy() {
    mk/tidy.py --tap "$results/tidy.tap" --slow
}

step_fuzz() {
    FUZZ_SECONDS=6 mk/fuzz.sh "$results/fuzz.tap"
}

# Most of it is waiting, for downloads and for packages that are unpacked one by one, so it begins
# with the first step and is only collected at the end, by which time it has been given up if it
# hangs.
begin_roots() {
    PAWL_ROOT_SECONDS=1200 setsid nice -n 5 mk/roots.sh "$results/roots.tap" trixie \
        >"$results/roots.log" 2>&1 &
    roots=$!
    trap 'kill -- "-$roots" 2>/dev/null' EXIT
}

end_roots() {
    wait "$roots"
    cat "$results/roots.log"
}

only=()
case $1 in
--only=?*) only=("$1"); shift ;;
--only=) shift ;;
esac
mkdir -p "$results"
rm -f "$results"/*
logs=()
for step in "$@"; do
    case $step in
    plain | all | asan | tsan) logs+=("$step=$results/$step.json") ;;
    checks | tidy | fuzz | roots) logs+=("$step=$results/$step.tap") ;;
    *) echo "mk/test.sh: unknown step: \"$step\"" >&2; exit 2 ;;
    esac
done
case " $* " in *' roots '*) begin_roots ;; esac
for step in "$@"; do
    say "$step"
    began=$SECONDS
    if [ "$step" = roots ]; then end_roots; else ("step_$step"); fi
    echo "($((SECONDS - began)) s)"
done
say results
mk/tally.py "${logs[@]}"
