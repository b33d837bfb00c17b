#!/usr/bin/env bash
# Runs bootstrap.sh in a folder of its own, with stand-ins on PATH that write down how they were called.
set -euo pipefail
bootstrap=$1
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
mkdir "$work/bin" "$work/project"
cp "$bootstrap" "$work/project/bootstrap.sh"
failures=0

# stand_in NAME: a program that notes its call and then does what stdin says.
stand_in() {
  { printf '#!/bin/bash\necho "%s $*" >>"%s/calls"\n' "$1" "$work"; cat; } >"$work/bin/$1"
  chmod +x "$work/bin/$1"
}

stand_in dpkg-query <<<'for p in "$@"; do :; done; grep -qx "$p" "$MISSING" && { echo not-installed; exit 1; }; echo -n installed'
stand_in apt-cache <<<'if grep -qx "$2" "$UNKNOWN"; then echo "  Candidate: (none)"; else echo "  Candidate: 1.0"; fi'
stand_in apt-get <<<'[[ "$*" == *update* ]] && : >"$UNKNOWN"; [[ "$*" == *install* ]] && exit "${INSTALL_FAILS:-0}"; exit 0'
stand_in sudo <<<'"$@"'
stand_in id <<<'echo "${UID_SHOWN:-0}"'
stand_in cmake <<<'[[ "$1" == --build ]] && mkdir -p "$2/bin" && printf "#!/bin/sh\necho discovered \$*\n" >"$2/bin/gputopo" && chmod +x "$2/bin/gputopo"; exit "${BUILD_FAILS:-0}"'
stand_in ctest <<<'echo "100% tests passed, 0 tests failed out of 7"; exit "${TESTS_FAIL:-0}"'

# run NAME EXPECTED-STATUS ARGUMENT...: with the packages in $missing and $unknown; leaves out, err and calls behind.
run() {
  local name=$1 expected=$2 status=0
  shift 2
  printf '%s\n' ${missing-} >"$work/missing"
  printf '%s\n' ${unknown-} >"$work/unknown"
  : >"$work/calls"
  (cd "$work/project" && MISSING=$work/missing UNKNOWN=$work/unknown PATH=$work/bin:$PATH ./bootstrap.sh "$@") \
    >"$work/out" 2>"$work/err" </dev/null || status=$?
  [[ $status -eq $expected ]] || fault "$name: ended with $status instead of $expected"
  test_name=$name
}
fault() { echo "FAILED $*"; sed 's/^/  err: /' "$work/err"; failures=$((failures + 1)); }
called() { grep -q -- "$1" "$work/calls" || fault "$test_name: nothing called '$1'"; }
not_called() { ! grep -q -- "$1" "$work/calls" || fault "$test_name: called '$1'"; }
said() { grep -q -- "$1" "$work/err" || fault "$test_name: didn't say '$1'"; }

run "nothing is missing" 0 run --format json
not_called apt-get
grep -qx 'discovered discover --format json' "$work/out" || fault "stdout holds more than discover's"

missing='g++ cmake' run "root installs what is missing" 0 run
called 'apt-get .*install .*g++ cmake'
not_called 'apt-get .*update'
not_called sudo
not_called 'install .*ninja-build'
said 'installing as root: g++ cmake'

UID_SHOWN=1000 missing='g++' run "others install by sudo" 0 run
called 'sudo env DEBIAN_FRONTEND=noninteractive apt-get'
said 'installing with sudo: g++'

missing='g++' unknown='g++' run "unknown packages need fresh lists" 0 run
called 'apt-get .*update'
called 'apt-get .*install .*g++'

missing='likwid' unknown='likwid' run "an optional package that isn't packaged is no reason to stop" 0 run
not_called apt-get

missing='g++' INSTALL_FAILS=1 run "a failed installation says what to do" 1 run
said 'as root: apt-get install g++'
not_called ^cmake

BUILD_FAILS=1 run "a failed build ends it" 1 run
not_called ^ctest

run "tests run under both presets" 0 test
called 'ctest --preset default --no-tests=error'
called 'ctest --preset asan --no-tests=error'
[[ $(grep -c '0 tests failed out of 7' "$work/out") -eq 2 ]] || fault "the summaries are missing"

TESTS_FAIL=1 run "failed tests are a failure, after both presets ran" 1 test
called 'ctest --preset asan'
said 'some tests failed'

run "anything else is wrong usage" 2 install
run "no command is wrong usage" 2

[[ $failures -eq 0 ]] || { echo "$failures failures"; exit 1; }
echo "all passed"
