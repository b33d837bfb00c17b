#!/usr/bin/env bash
# Everything that needs a GPU, in one go: bash tests/device/run_on_gpu.sh (from the repository root, after a build).
set -u
cd "$(dirname "$0")/../.."
failed=0
build/tests/device_test || failed=1
compute_sanitizer=$(command -v compute-sanitizer || echo /usr/local/cuda/bin/compute-sanitizer)
if [[ -x $compute_sanitizer ]]; then
  "$compute_sanitizer" --tool memcheck --error-exitcode 9 build/bin/gputopo discover --quiet >/dev/null
  status=$?
  # Under the sanitizer latencies are not the GPU's own: an inconclusive discovery (3) is no fault.
  if [[ $status -ne 0 && $status -ne 3 ]]; then
    echo "memcheck: exit status $status"
    failed=1
  else
    echo "memcheck: clean"
  fi
  "$compute_sanitizer" --tool memcheck --error-exitcode 9 build/tests/device_test \
    --gtest_filter='RealStreams.EveryKernelMovesWhatItCounts' >/dev/null || failed=1
else
  echo "memcheck: compute-sanitizer isn't installed, skipped"
fi
for run in 1 2 3; do
  /usr/bin/env time -f "discovery $run: %e s" build/bin/gputopo discover --quiet >/dev/null
done
for name in bandwidth in_flight requests banks atomics; do
  /usr/bin/env time -f "bench $name: %e s" build/bin/gputopo bench "$name" --quiet --format json -o "bench-$name.json" || failed=1
done
exit "$failed"
