#!/bin/sh
# Writes the series for LIKWID's branch master as `git format-patch` does, for `git am` in a clone of it: the module itself,
# which the Makefile installs, what likwid-topology asks it for, documentation and tests. Made from the files here, so it is
# never older than they are.
set -eu
[ $# -eq 2 ] || { echo 'Usage: format_patch.sh FOLDER "NAME <ADDRESS>"   (of who sends it)' >&2; exit 2; }
folder=$1 from=$2
here=$(CDPATH='' cd -- "$(dirname -- "$0")" && pwd)
module=$here/../../../plugin/likwid/likwid_gputopo.lua
mkdir -p -- "$folder"

# mail NUMBER PATCH: headers and message from the quilt patch's own.
mail() {
  printf 'From 0000000000000000000000000000000000000000 Mon Sep 17 00:00:00 2001\nFrom: %s\nDate: %s\n' \
    "$from" "$(LC_ALL=C date -R)"
  awk -v number="$1" '
    /^--- / { exit }
    /^Subject: / { print "Subject: [PATCH " number "/2] " substr($0, 10) "\n"; next }
    /^License: / { next }
    { sub(/^Description: /, ""); sub(/^ /, ""); print }' "$2"
  printf -- '---\n\n'
}

new_file() {
  printf 'diff --git a/%s b/%s\nnew file mode 100644\n--- /dev/null\n+++ b/%s\n@@ -0,0 +1,%d @@\n' "$1" "$1" "$1" "$(wc -l <"$2")"
  sed 's/^/+/' "$2"
}

# Of a patch's files all but the change log, whose first lines are others in each version.
changes() {
  awk '/^--- a\// { wanted = $2 != "a/CHANGELOG" } wanted' "$1"
}

first=$here/../0001-likwid-topology-gpu-caches.patch second=$here/../0002-document-and-test-gpu-caches.patch
{
  mail 1 "$first"
  new_file src/applications/likwid_gputopo.lua "$module"
  cat -- "$here/install.patch"
  changes "$first"
  printf -- '-- \n'
} >"$folder/0001-likwid-topology-show-the-caches-of-GPUs.patch"
{
  mail 2 "$second"
  changes "$second"
  printf -- '-- \n'
} >"$folder/0002-likwid-topology-document-and-test-the-caches-of-GPUs.patch"
