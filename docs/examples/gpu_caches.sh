#!/bin/sh
# A GPU's memories and the cores near it, by hwloc's own tools alone.
#   docs/examples/gpu_caches.sh [cuda0]                    all of them
#   docs/examples/gpu_caches.sh cuda0 l2 SizeBytes         one attribute of one, by its GPUTopoId, whatever its size is
#   docs/examples/gpu_caches.sh cuda0 constant_l1_5 SMs    one line for each group of SMs
#   GPUTOPO_SIMULATE=h200 docs/examples/gpu_caches.sh      without a GPU
set -eu
gpu=${1:-cuda0} id=${2:-} attribute=${3:-SizeBytes}

objects=$(hwloc-info --descendants misc "os=$gpu" 2>/dev/null || true)
if [ -z "$objects" ]; then
  echo "hwloc knows no $gpu with memories: run gputopo discover --save, and see docs/hwloc.md" >&2
  exit 1
fi

if [ -n "$id" ]; then
  # hwloc-info writes "info NAME = VALUE"; an object's GPUTopoId comes first.
  printf '%s\n' "$objects" | ID=$id ATTRIBUTE=$attribute awk '
    $1 == "info" && $2 == "GPUTopoId" { here = $4 == ENVIRON["ID"] }
    here && $1 == "info" && $2 == ENVIRON["ATTRIBUTE"] { sub(/^.* = /, ""); print; found = 1 }
    END { exit !found }' || { echo "$gpu has no $attribute of $id" >&2; exit 1; }
  exit 0
fi

# One line a memory. Parts of the chip ("GPC x8", a side of the L2) have no kind.
printf '%s\n' "$objects" | awk '
  function flush() {
    if (kind != "") printf "%-14s %-10s %14s B %8s cycles  %s\n", id, scope, size, latency, status
    id = kind = scope = ""; size = latency = "?"; status = ""
  }
  BEGIN { size = latency = "?" }
  / = descendant #/ { flush() }
  $1 == "info" && $2 == "GPUTopoId" { id = $4 }
  $1 == "info" && $2 == "Kind" { kind = $4 }
  $1 == "info" && $2 == "Scope" { scope = $4 }
  $1 == "info" && $2 == "SizeBytes" { size = $4 }
  $1 == "info" && $2 == "SizeAtLeastBytes" { size = ">=" $4 }
  $1 == "info" && $2 == "LatencyCycles" { latency = $4 }
  $1 == "info" && $2 == "Status" { status = $4 }
  END { flush() }'

echo "CPUs near $gpu: $(hwloc-calc "os=$gpu")"
echo "to run there: hwloc-bind os=$gpu -- COMMAND"
