#!/usr/bin/env bash
# Runs bootstrap.sh in a folder of its own, with stand-ins on PATH that write down how they were called.
set -euo pipefail
bootstrap=$1
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
mkdir -p "$work/bin" "$work/project/tests"
cp "$bootstrap" "$work/project/bootstrap.sh"
cp "$(dirname "$bootstrap")/tests/summary.py" "$work/project/tests"
cat >"$work/project/tests/parts.txt" <<'PARTS'
first part | first.* | never was there
second part | second.* | second isn't installed
GPU | gpu.* | there is none | may be missing
PARTS
failures=0
# Without what bootstrap.sh itself has put there, when it runs this test.
system_path=/usr/local/bin:/usr/bin:/bin

# stand_in NAME: a program that notes its call and then does what stdin says.
stand_in() {
  { printf '#!/bin/bash\necho "%s $*" >>"%s/calls"\n' "$1" "$work"; cat; } >"$work/bin/$1"
  chmod +x "$work/bin/$1"
}

# Says of known packages what they are, also where it fails because of others.
stand_in dpkg-query <<'STAND_IN'
missing=" $(tr '\n' ' ' <"$MISSING")"
status=0
for p in "${@:3}"; do
  if [[ $missing == *" $p "* ]]; then status=1; else echo -n "$p=installed "; fi
done
exit $status
STAND_IN
# Prints as the real one does where there are many versions: slowly, and much more than a pipe holds.
stand_in apt-cache <<'STAND_IN'
if grep -qx "$2" "$UNKNOWN"; then candidate='(none)'; else candidate=1.0; fi
printf '%s:\n  Installed: (none)\n  Candidate: %s\n  Version table:\n' "$2" "$candidate"
for part in 1 2 3; do
  sleep 0.02
  printf '     1.0 500\n        500 http://deb.debian.org/debian bookworm/main amd64 Packages %040000d\n' $part || exit 1
done
STAND_IN
stand_in apt-get <<<'[[ "$*" == *update* ]] && : >"$UNKNOWN"; [[ "$*" == *install* ]] && exit "${INSTALL_FAILS:-0}"; exit 0'
stand_in sudo <<<'"$@"'
stand_in id <<<'echo "${UID_SHOWN:-0}"'
stand_in cmake <<<'[[ "$1" == --build ]] && mkdir -p "$2/bin" && printf "#!/bin/sh\necho discovered \$*\n" >"$2/bin/gputopo" && chmod +x "$2/bin/gputopo"; exit "${BUILD_FAILS:-0}"'
stand_in ctest <<'STAND_IN'
echo "100% tests passed, 0 tests failed out of 7"
while [[ $# -gt 0 && $1 != --output-junit ]]; do shift; done
{ echo '<testsuite>'
  for name in ${PASSED-first.a second.a gpu.a}; do echo "<testcase name='$name' status='run'/>"; done
  echo '</testsuite>'; } >"$2"
exit "${TESTS_FAIL:-0}"
STAND_IN

# run NAME EXPECTED-STATUS ARGUMENT...: with the packages in $missing and $unknown; leaves out, err and calls behind.
run() {
  local name=$1 expected=$2 status=0
  shift 2
  printf '%s\n' ${missing-} >"$work/missing"
  printf '%s\n' ${unknown-} >"$work/unknown"
  : >"$work/calls"
  (cd "$work/project" && MISSING=$work/missing UNKNOWN=$work/unknown PATH=$work/bin:$system_path ./bootstrap.sh "$@") \
    >"$work/out" 2>"$work/err" </dev/null || status=$?
  [[ $status -eq $expected ]] || fault "$name: ended with $status instead of $expected"
  test_name=$name
}
fault() { echo "FAILED $*"; sed 's/^/  err: /' "$work/err"; failures=$((failures + 1)); }
called() { grep -q -- "$1" "$work/calls" || fault "$test_name: nothing called '$1'"; }
not_called() { ! grep -q -- "$1" "$work/calls" || fault "$test_name: called '$1'"; }
printed() { grep -q -- "$1" "$work/out" || fault "$test_name: didn't print '$1'"; }
said() { grep -q -- "$1" "$work/err" || fault "$test_name: didn't say '$1'"; }

stand_in clang++ <<'STAND_IN'
[[ ${CLANG-} == works ]] || exit 1
printf '#!/bin/sh\n' >"${@: -1}" && chmod +x "${@: -1}"
STAND_IN

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

missing='likwid' run "an optional package that is packaged is installed, however long apt talks about it" 0 run
called 'apt-get .*install .*likwid'

missing='g++ likwid' unknown='g++ likwid' run "an optional package is looked for again in fresh lists" 0 run
called 'apt-get .*update'
called 'apt-get .*install .*likwid'

missing='g++' INSTALL_FAILS=1 run "a failed installation says what to do" 1 run
said 'as root: apt-get install g++'
not_called ^cmake

BUILD_FAILS=1 run "a failed build ends it" 1 run
not_called ^ctest

run "tests run under both presets" 0 test
called 'ctest --preset default --no-tests=error'
called 'ctest --preset asan --no-tests=error'
[[ $(grep -c '0 tests failed out of 7' "$work/out") -eq 2 ]] || fault "the summaries are missing"

not_called 'cmake --preset .*clang'
CLANG=works run "clang compiles for the sanitizers where it can" 0 test
called 'cmake --preset asan .*-DCMAKE_CXX_COMPILER=clang++'
called 'cmake --preset asan .*--fresh'  # else a folder that g++ has built in loses its sanitizers
not_called 'cmake --preset default .*clang'
missing='clang' unknown='clang' run "where it isn't packaged g++ does" 0 test
not_called 'cmake --preset .*clang'
missing='clang' run "it is installed for tests" 0 test
called 'apt-get .*install .*clang'
missing='clang' run "and for nothing else" 0 run
not_called 'install .*clang'
run "tests run under both presets, by g++ too" 0 test

PATH=$system_path command -v prometheus >/dev/null || called 'apt-get -q download prometheus'
not_called 'install .*prometheus'
called 'ctest --preset default .*-LE heavy'
said "left out: the tests labelled 'heavy'"

missing='lintian' run "what the heavy ones call isn't installed for others" 0 test
not_called 'install .*lintian'
missing='lintian' run "the heavy ones run where they are asked for" 0 test --heavy
called 'apt-get .*install .*lintian'
not_called 'ctest .*-LE heavy'
called 'ctest --preset asan'
run "but nothing else is asked for" 1 test --whole
said "test knows --heavy alone, not '--whole'"

TESTS_FAIL=1 run "failed tests are a failure, after both presets ran" 1 test
called 'ctest --preset asan'
said 'some tests failed'

PASSED='first.a second.a gpu.a' run "a full run says so" 0 test
printed 'tested: first part, second part, GPU; not tested here: nothing'

PASSED='first.a' CI='' run "a part that is missing is told with its reason" 0 test
printed "tested: first part; not tested here: second part because second isn't installed, GPU because there is none"

PASSED='first.a' CI=true run "where CI=true it is a failure" 1 test
said 'a part is missing'

PASSED='first.a second.a' CI=true run "but for a part that may be missing there" 0 test
printed 'not tested here: GPU because there is none'

run "anything else is wrong usage" 2 install
run "no command is wrong usage" 2

[[ $failures -eq 0 ]] || { echo "$failures failures"; exit 1; }
echo "all passed"
