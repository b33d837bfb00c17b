#!/bin/sh
# Measures every GPU of this node that has no stored topology under the running driver: about a second each, nothing where
# all is known. What the systemd unit, the Slurm prolog and the Ansible task run, as root.
set -eu
store=${GPUTOPO_STORE:-/var/lib/gputopo}
version_file=${NVIDIA_VERSION_FILE:-/sys/module/nvidia/version}
[ -r "$version_file" ] || { echo "measure-node: no NVIDIA driver is loaded; nothing to do" >&2; exit 0; }
driver=$(cat "$version_file")

status=0
gpus=$(gputopo devices --format json | awk -F'"' '$2 == "device" { device = $4 } $2 == "uuid" && device ~ /^cuda:/ { print device, $4 }')
while read -r device uuid; do
  [ -n "$device" ] || continue
  if grep -Eqs "\"driver_version\": ?\"$driver\"" "$store/$uuid.json"; then continue; fi
  echo "measure-node: measuring $device ($uuid)" >&2
  gputopo discover --device "$device" --save --quiet -o /dev/null </dev/null || {
    code=$?
    [ $code -eq 3 ] || status=$code  # 3: measured, with something inconclusive
  }
done <<LIST
$gpus
LIST
exit $status
