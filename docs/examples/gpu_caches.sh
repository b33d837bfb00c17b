#!/bin/sh
# A GPU's memories and the cores near it, by hwloc's own tools alone.
#   docs/examples/gpu_caches.sh [cuda0]
#   GPUTOPO_SIMULATE=h200 docs/examples/gpu_caches.sh      without a GPU
set -eu
gpu=${1:-cuda0}

objects=$(hwloc-info --descendants misc "os=$gpu" 2>/dev/null || true)
if [ -z "$objects" ]; then
  echo "hwloc knows no $gpu with memories: run gputopo discover --save, and see docs/hwloc.md" >&2
  exit 1
fi

# One line a memory. Parts of the chip ("SM x132") have no kind.
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
  $1 == "info" && $2 == "LatencyCycles" { latency = $4 }
  $1 == "info" && $2 == "Status" { status = $4 }
  END { flush() }'

echo "CPUs near $gpu: $(hwloc-calc "os=$gpu")"
echo "to run there: hwloc-bind os=$gpu -- COMMAND"
