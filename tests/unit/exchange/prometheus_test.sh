#!/bin/sh
# prometheus_test.sh GPUTOPO RULES TEST.yml TOPOLOGY.json: what is exported, read by Prometheus' own tools.
set -eu
gputopo=$1 rules=$2 rules_test=$3 topology=$4
command -v promtool >/dev/null || { echo "skipped: promtool isn't installed (package prometheus)"; exit 77; }
work=$(mktemp -d)
exporter=
trap '[ -z "$exporter" ] || kill "$exporter"; rm -rf "$work"' EXIT

cp "$rules" "$rules_test" "$work"
promtool check rules "$work/gputopo.rules.yml"
promtool test rules "$work/gputopo.rules.test.yml"

"$gputopo" export --prometheus "$work/gputopo.prom" "$topology"
promtool check metrics <"$work/gputopo.prom"

command -v prometheus-node-exporter >/dev/null || { echo "skipped: prometheus-node-exporter isn't installed"; exit 77; }
address=127.0.0.1:$((20000 + $$ % 20000))
prometheus-node-exporter --collector.disable-defaults --collector.textfile --collector.textfile.directory="$work" \
  --web.listen-address=$address >"$work/log" 2>&1 &
exporter=$!
for _ in 1 2 3 4 5 6 7 8 9 10; do
  python3 -c 'import sys, urllib.request; print(urllib.request.urlopen(sys.argv[1]).read().decode(), end="")' \
    "http://$address/metrics" >"$work/served" 2>>"$work/log" && break
  sleep 0.5
done
grep -qx 'node_textfile_scrape_error 0' "$work/served" || { cat "$work/log" "$work/served"; exit 1; }
written=$(grep -c '^gputopo_' "$work/gputopo.prom")
served=$(grep -c '^gputopo_' "$work/served")
[ "$written" = "$served" ] || { echo "node_exporter serves $served of $written samples"; exit 1; }
