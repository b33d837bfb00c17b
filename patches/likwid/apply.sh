#!/bin/sh
# Makes a patched copy of an installed likwid-topology that shows the caches of GPUs, and takes it away again.
# The system's own script is only read. The copy is a work under LIKWID's licence, GPL-3.0-or-later.
set -eu

usage() {
  cat <<'USAGE'
Usage: apply.sh [--script FILE] [--prefix DIR] [--output FILE] [--dry-run]
       apply.sh --undo [--prefix DIR | --output FILE]

  --script FILE  likwid-topology to copy (default: the first unpatched one on PATH)
  --prefix DIR   our prefix: its share/lua holds likwid_gputopo.lua (default: /usr/local)
  --output FILE  the patched copy (default: PREFIX/bin/likwid-topology)
  --dry-run      write nothing; print the script that would be copied, or refuse as usual
  --undo         remove a copy made by this script; nothing else is ever removed

Exit status: 0 done, 1 refused (one line says why), 2 usage.
USAGE
}

refuse() {
  echo "apply.sh: $1" >&2
  exit 1
}

needs_value() {
  [ "$1" -ge 2 ] || { usage >&2; exit 2; }
}

here=$(CDPATH='' cd -- "$(dirname -- "$0")" && pwd)
patch_file=$here/0001-likwid-topology-gpu-caches.patch
mark='-- patched copy made by gputopo: apply.sh --undo removes it'
script='' prefix=/usr/local output='' undo=no dry_run=no
while [ $# -gt 0 ]; do
  case $1 in
    --script) needs_value $#; script=$2; shift 2 ;;
    --prefix) needs_value $#; prefix=$2; shift 2 ;;
    --output) needs_value $#; output=$2; shift 2 ;;
    --dry-run) dry_run=yes; shift ;;
    --undo) undo=yes; shift ;;
    -h | --help) usage; exit 0 ;;
    *) usage >&2; exit 2 ;;
  esac
done
[ -n "$output" ] || output=$prefix/bin/likwid-topology

is_ours() { [ -f "$1" ] && grep -qxF -e "$mark" -- "$1"; }

if [ $undo = yes ]; then
  [ -e "$output" ] || refuse "nothing to undo: $output doesn't exist"
  is_ours "$output" || refuse "left $output alone: it isn't a copy made by this script; remove it by hand if you want to"
  rm -f -- "$output"
  exit 0
fi

if [ -z "$script" ]; then
  old_ifs=$IFS
  IFS=:
  for folder in $PATH; do
    candidate=$folder/likwid-topology
    if [ -f "$candidate" ] && [ -x "$candidate" ] && ! is_ours "$candidate"; then
      script=$candidate
      break
    fi
  done
  IFS=$old_ifs
  [ -n "$script" ] || refuse "no likwid-topology on PATH; install LIKWID (Debian: package likwid) or give --script FILE"
fi
if [ ! -r "$script" ] || [ ! -f "$script" ]; then
  refuse "can't read $script; give --script the likwid-topology script"
fi
is_ours "$script" && refuse "$script is patched already; give --script LIKWID's own one"
[ -r "$patch_file" ] || refuse "can't read $patch_file; keep apply.sh beside its patch"
command -v patch >/dev/null || refuse "the command patch isn't installed; install it (Debian: package patch)"
if [ -e "$output" ] && ! is_ours "$output"; then
  refuse "won't overwrite $output: it isn't a copy made by this script; choose another --output or --prefix"
fi
case $prefix in
  /*) ;;
  *) prefix=$PWD/$prefix ;;
esac
line_break='
'
case $prefix in
  *"'"* | *\\* | *";"* | *"?"* | *"$line_break"*)
    refuse "the prefix holds a quote, a backslash, a semicolon, a question mark or a line break; choose another --prefix" ;;
esac

version=$(sed -n 's/^ \*  *Version:  *\([^ ]*\) *$/\1/p' "$script" | head -n 1)
work=$(mktemp -d) || refuse "can't make a temporary folder; set TMPDIR to one that you may write"
temporary=''
trap 'rm -rf -- "$work"; [ -z "$temporary" ] || rm -f -- "$temporary"' EXIT
trap 'exit 1' HUP INT TERM

# Without fuzz: a hunk that only nearly fits might land in the wrong place.
if ! patch --silent --force --fuzz=0 --reject-file="$work/rejected" --output="$work/patched" -- "$script" "$patch_file" >/dev/null 2>&1; then
  refuse "the patch doesn't fit $script (LIKWID ${version:-of unknown version}); versions that fit are in $here/UPSTREAM"
fi

# The module lies in our prefix, not in LIKWID's: found relative to the copy, or where it was installed.
path_line="package.path = package.path .. ';' .. (arg[0]:match('^(.*)/') or '.') .. '/../share/lua/?.lua;$prefix/share/lua/?.lua'"
lines=$(grep -c '^package\.path = ' "$work/patched" || true)
[ "$lines" = 1 ] || refuse "the patch doesn't fit $script: it sets package.path $lines times, not once"
if [ $dry_run = yes ]; then
  printf '%s\n' "$script"
  exit 0
fi
mkdir -p -- "$(dirname -- "$output")"
temporary=$(mktemp -- "$output.XXXXXX") || refuse "can't write beside $output; choose an --output that you may write"
PATH_LINE=$path_line MARK=$mark awk '
  { print }
  /^package\.path = / { print ENVIRON["MARK"]; print ENVIRON["PATH_LINE"] }
' "$work/patched" >"$temporary"
chmod 755 -- "$temporary"
mv -f -- "$temporary" "$output"
temporary=''
# A release candidate's script has the number of the release.
if [ -n "$version" ] && ! grep -q "^$version\(\.0\|rc[0-9]*\)\{0,1\} " "$here/UPSTREAM"; then
  echo "apply.sh: the patch fits, but LIKWID $version is none of the versions it was tried on" >&2
fi
