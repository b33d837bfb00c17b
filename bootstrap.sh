#!/usr/bin/env bash
# The two commands of a newcomer, on a fresh Debian 12 or Ubuntu 24.04:
#   ./bootstrap.sh run [ARGUMENT...]   install what is missing, build, measure this machine's GPU (arguments: discover's)
#   ./bootstrap.sh test [--heavy]      install what is missing, build, test, then again under the sanitizers; tests that repeat
#                                      in bulk what others do once (label 'heavy', docs/contributing.md) where they are asked for
# Both may be repeated at any time; with nothing to install they need neither rights nor network.
set -euo pipefail
cd "$(dirname "$0")"

required=(g++ cmake ninja-build ccache git pkg-config nlohmann-json3-dev libfmt-dev libexpected-dev libcli11-dev
  libgtest-dev libgmock-dev libbenchmark-dev libboost-dev libhwloc-dev hwloc libhwloc-plugins lua5.3 lua5.4 patch
  python3 python3-jsonschema)
# Not packaged everywhere; the parts that use them are left out without them.
optional=(likwid)
# What compiles for the sanitizers: half as long as g++ takes for it, which does it where clang isn't packaged.
sanitizing=(clang libclang-rt-dev)
# What tests labelled 'heavy' call besides.
heavy=(lintian valgrind dpkg-dev)
# What a test calls and nobody wants installed for it: these packages start daemons. They are unpacked in the build folder.
unpacked=(prometheus prometheus-node-exporter)

# Machine code for this machine's GPUs alone: for all that there are it takes three times as long (docs/contributing.md).
native=-DGPUTOPO_CUDA_ARCHITECTURES=native

say() { printf 'bootstrap: %s\n' "$*" >&2; }  # stdout is the command's own
die() { printf 'bootstrap: %s\n' "$*" >&2; exit 1; }

# Sets `installed` to those of the packages that are, between blanks. One question for all: each costs a process.
ask_what_is_installed() {
  installed=" $(dpkg-query -W -f='${Package}=${db:Status-Status} ' "$@" 2>/dev/null || true)"
}
is_installed() { [[ $installed == *" $1=installed "* ]]; }
# No pipe into `grep -q`, here or anywhere: it closes the pipe at the first match, the writer dies of SIGPIPE, and under
# pipefail a match then counts as none.
has_candidate() {
  local policy
  policy=$(LC_ALL=C apt-cache policy "$1" 2>/dev/null) && [[ $policy == *'Candidate: '[!\(]* ]]
}

# Runs apt-get as root, quietly; its output is shown only where it fails.
apt_as_root() {
  local log
  log=$(mktemp)
  local -a prefix=(env DEBIAN_FRONTEND=noninteractive)
  [[ $(id -u) -eq 0 ]] || prefix=(sudo "${prefix[@]}")
  if "${prefix[@]}" apt-get -q -y -o Dpkg::Use-Pty=0 "$@" </dev/null >"$log" 2>&1; then
    rm -f "$log"
    return 0
  fi
  tail -n 30 "$log" >&2
  rm -f "$log"
  return 1
}

install_packages() {
  local package
  local -a missing=() wanted=()
  local installed
  command -v dpkg-query >/dev/null || die "this isn't Debian or Ubuntu; install by hand: ${required[*]}"
  ask_what_is_installed "${required[@]}" "${optional[@]}"
  for package in "${required[@]}"; do is_installed "$package" || missing+=("$package"); done
  for package in "${optional[@]}"; do is_installed "$package" || wanted+=("$package"); done
  if [[ ${#missing[@]} -eq 0 ]]; then
    # An optional package alone is no reason to go to the network, unless apt already knows where it is.
    for package in "${wanted[@]}"; do has_candidate "$package" && missing+=("$package"); done
    [[ ${#missing[@]} -gt 0 ]] || return 0
    [[ $(id -u) -eq 0 ]] || return 0
  fi
  if [[ $(id -u) -ne 0 ]] && ! command -v sudo >/dev/null; then
    die "packages are missing and there is no sudo; as root: apt-get install ${missing[*]}"
  fi
  for package in "${missing[@]}"; do
    has_candidate "$package" && continue
    say "updating the package lists $(how)"
    apt_as_root update || die "apt-get update failed; check the network and /etc/apt"
    break
  done
  for package in "${wanted[@]}"; do
    [[ " ${missing[*]} " == *" $package "* ]] && continue
    if has_candidate "$package"; then missing+=("$package"); else say "$package isn't packaged here; going without"; fi
  done
  say "installing $(how): ${missing[*]}"
  apt_as_root install --no-install-recommends "${missing[@]}" && return 0
  say "trying again with fresh package lists"
  apt_as_root update || die "apt-get update failed; check the network and /etc/apt"
  apt_as_root install --no-install-recommends "${missing[@]}" || die "can't install; as root: apt-get install ${missing[*]}"
}

# Puts the programs of packages on PATH that aren't installed. Without network the tests that call them say so.
unpack_tools() {
  local tools=$PWD/build/tools package
  export PATH=$PATH:$tools/usr/bin
  for package in "${unpacked[@]}"; do
    if command -v "$package" >/dev/null || ! has_candidate "$package"; then continue; fi
    mkdir -p "$tools"
    say "unpacking $package in build/tools"
    if (cd "$tools" && rm -f -- "$package"_*.deb && apt-get -q download "$package" && dpkg-deb -x "$package"_*.deb .) >/dev/null 2>&1; then
      rm -f -- "$tools/$package"_*.deb
    else
      say "can't unpack $package; going without"
    fi
  done
}

# clang may be there without the library that its sanitizers need.
has_sanitizing_clang() {
  local program status=0
  program=$(mktemp)
  clang++ -fsanitize=address,undefined -x c++ - -o "$program" <<<'int main() {}' 2>/dev/null && "$program" || status=1
  rm -f "$program"
  return $status
}

how() { if [[ $(id -u) -eq 0 ]]; then echo "as root"; else echo "with sudo"; fi; }

find_nvcc() {
  local nvcc
  nvcc=$(command -v nvcc || true)
  if [[ -z $nvcc ]]; then
    for candidate in /usr/local/cuda/bin/nvcc /usr/local/cuda-*/bin/nvcc /opt/cuda/bin/nvcc; do
      [[ -x $candidate ]] && nvcc=$candidate && break
    done
  fi
  if [[ -n $nvcc ]]; then
    say "CUDA toolkit: $nvcc"
    export CUDACXX=${CUDACXX:-$nvcc}
  else
    say "CUDA toolkit: none (neither in PATH nor in /usr/local/cuda); a real GPU's driver assembles the kernels, hardware counters are left out"
  fi
}

# build PRESET FOLDER TARGET [CMAKE-ARGUMENT...]: files of a folder are compiled together, which takes a fifth of the time;
# who develops compiles what changed.
build() {
  local preset=$1 folder=$2 target=$3
  shift 3
  mkdir -p "$folder"
  say "building $target (preset $preset)"
  cmake --preset "$preset" -DCMAKE_UNITY_BUILD=ON "$@" >"$folder/configure.log" 2>&1 || { cat "$folder/configure.log" >&2; die "configuring failed"; }
  cmake --build "$folder" --parallel "$(nproc)" --target "$target" -- --quiet || die "the build failed"
}

# run_tests PRESET FOLDER [CTEST-ARGUMENT...]: ctest's summary where all is well, everything where it isn't.
run_tests() {
  local preset=$1 folder=$2
  shift 2
  say "testing (preset $preset)"
  local log=$folder/test.log
  if ctest --preset "$preset" --no-tests=error --parallel "$(nproc)" --output-junit "$PWD/$folder/junit.xml" \
    --test-output-size-passed 10000000 --test-output-size-failed 10000000 "$@" </dev/null >"$log" 2>&1; then
    sed -n '/tests passed/,$p' "$log"
    return 0
  fi
  cat "$log"
  return 1
}

# Ends the test command: which parts of tests/parts.txt were tested. Where CI=true a part that has to be there must be.
say_what_was_tested() {
  local status=0
  python3 tests/summary.py tests/parts.txt "$@" || status=$?
  [[ $status -ne 3 || ${CI-} != true ]] || die "a part is missing that has to be tested where CI=true; see the line above"
  [[ $status -eq 0 || $status -eq 3 ]] || die "can't say what was tested"
}

# Whether `discover` would measure a real GPU here.
has_gpu() {
  local devices
  devices=$(build/bin/gputopo devices --format json 2>/dev/null) && [[ $devices == *'"cuda:'* ]]
}

# The GPU as others show it. A measured one is kept for them first; without a GPU they show the simulated H200.
show_elsewhere() {
  local -a who=()
  if has_gpu; then
    build/bin/gputopo discover --save --quiet >/dev/null 2>&1 || return 0
  else
    who=(env GPUTOPO_SIMULATE=h200)
  fi
  if [[ -x build/bin/likwid-topology ]]; then
    printf '\nlikwid-topology -g:\n\n'
    "${who[@]}" build/bin/likwid-topology -g 2>/dev/null | sed -n '/^GPU Cache Topology/,$p' | sed -n '/^GPU [0-9]/,$p'
  fi
  local lstopo
  lstopo=$(command -v lstopo-no-graphics || command -v lstopo) || return 0
  printf '\nlstopo:\n\n'
  HWLOC_PLUGINS_PATH=$PWD/build/lib/hwloc:$(pkg-config --variable=libdir hwloc)/hwloc \
    "${who[@]}" "$lstopo" --of console --no-caches - 2>/dev/null | sed -n '/CoProc(CUDA)/,$p'
}

# The main job; its exit status is discover's. With arguments of the user's own there is nothing else to show.
run_main() {
  local status=0
  build/bin/gputopo discover "$@" || status=$?
  if [[ $# -eq 0 && ( $status -eq 0 || $status -eq 3 ) ]]; then show_elsewhere || true; fi
  return "$status"
}

main() {
  local command=${1-}
  [[ $# -gt 0 ]] && shift
  case $command in
    run)
      install_packages
      find_nvcc
      # Tests take longer to build than all the rest. A folder that has them already keeps them.
      if [[ -e build/CMakeCache.txt ]]; then build default build product "$native"; else
        build default build product "$native" -DGPUTOPO_BUILD_TESTS=OFF -DGPUTOPO_BUILD_BENCHMARKS=OFF
      fi
      run_main "$@"
      ;;
    test)
      local -a chosen=(-LE heavy)
      local architectures=$native
      optional+=("${sanitizing[@]}")
      if [[ ${1-} == --heavy ]]; then
        chosen=()
        architectures=-DGPUTOPO_CUDA_ARCHITECTURES=  # all
        optional+=("${heavy[@]}")
        shift
      fi
      [[ $# -eq 0 ]] || die "test knows --heavy alone, not '$1'; usage: ./bootstrap.sh test [--heavy]"
      install_packages
      find_nvcc
      unpack_tools
      # Said each time: a preset sets what isn't.
      local -a wanted=("$architectures" -DGPUTOPO_BUILD_TESTS=ON -DGPUTOPO_BUILD_BENCHMARKS=ON -DGPUTOPO_TEST_ONCE=ON)
      build default build all "${wanted[@]}"
      if [[ ${#chosen[@]} -eq 0 ]]; then build default build heavy-programs "${wanted[@]}"; fi
      local failed=0
      run_tests default build "${chosen[@]}" || failed=1
      # What runs under the sanitizers, and what doesn't: docs/contributing.md.
      local -a compiler=()
      if has_sanitizing_clang; then compiler=(-DCMAKE_C_COMPILER=clang -DCMAKE_CXX_COMPILER=clang++); fi
      # Fresh: where a folder's compiler changes CMake forgets what else it was told, sanitizers included.
      build asan build-asan test-programs --fresh -DGPUTOPO_TEST_ONCE=ON "${compiler[@]}"
      run_tests asan build-asan || failed=1
      [[ $failed -eq 0 ]] || die "some tests failed; see above"
      say "all tests passed"
      [[ ${#chosen[@]} -eq 0 ]] || say "left out: the tests labelled 'heavy'; ./bootstrap.sh test --heavy runs them too"
      say_what_was_tested build/junit.xml build-asan/junit.xml
      ;;
    *)
      echo "usage: ./bootstrap.sh run [ARGUMENT...] | ./bootstrap.sh test [--heavy]" >&2
      exit 2
      ;;
  esac
}

main "$@"
