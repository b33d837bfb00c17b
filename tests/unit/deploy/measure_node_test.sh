#!/bin/sh
# measure_node_test.sh DEPLOY: the script for nodes, with a stand-in for gputopo on a node with two GPUs.
set -eu
deploy=$1
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cat >"$work/gputopo" <<'STAND_IN'
#!/bin/sh
case $1 in
  devices) printf '[\n{\n"device": "cuda:0",\n"uuid": "GPU-0"\n},\n{\n"device": "cuda:1",\n"uuid": "GPU-1"\n},\n{\n"device": "sim:h200",\n"uuid": "GPU-2"\n}\n]\n' ;;
  discover) echo "$*" >>"$WORK/ran"; exit "${CODE:-0}" ;;
esac
STAND_IN
chmod +x "$work/gputopo"
echo 580.1 >"$work/version"
export PATH="$work:$PATH" WORK="$work" GPUTOPO_STORE="$work" NVIDIA_VERSION_FILE="$work/version"
ran() { cat "$work/ran" 2>/dev/null || true; rm -f "$work/ran"; }
fail() { echo "$1"; exit 1; }

echo '{"driver_version":"580.1"}' >"$work/GPU-0.json"
sh "$deploy/measure-node.sh" 2>/dev/null
[ "$(ran)" = 'discover --device cuda:1 --save --quiet -o /dev/null' ] || fail "only the unknown GPU is measured"
echo '{"driver_version":"580.1"}' >"$work/GPU-1.json"
sh "$deploy/measure-node.sh"
[ -z "$(ran)" ] || fail "where all is known nothing is measured"
echo 590.2 >"$work/version"
sh "$deploy/measure-node.sh" 2>/dev/null
[ "$(ran | wc -l)" = 2 ] || fail "another driver means measuring again"
CODE=3 sh "$deploy/measure-node.sh" 2>/dev/null || fail "something inconclusive is no failure"
if CODE=1 sh "$deploy/measure-node.sh" 2>/dev/null; then fail "a failure is one"; fi
[ "$(ran | wc -l)" = 4 ] || fail "one GPU that fails keeps no other from being measured"
NVIDIA_VERSION_FILE=$work/none sh "$deploy/measure-node.sh" 2>/dev/null || fail "without a driver there is nothing to do"
[ -z "$(ran)" ] || fail "without a driver nothing is measured"
