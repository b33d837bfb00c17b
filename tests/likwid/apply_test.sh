#!/bin/sh
# apply.sh: makes a copy, takes it away, and refuses whatever it can't do safely. $1: patches/likwid, $2: LIKWID's script.
set -u
apply=$1/apply.sh patches=$1 stock=$2
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work" || exit 1
failures=0

fail() {
  echo "FAILED: $1" >&2
  failures=$((failures + 1))
}

files() {
  find . -type f ! -name out ! -name err -exec cksum {} + | sort
}

# succeeds WHAT COMMAND...
succeeds() {
  what=$1; shift
  "$@" >out 2>err || fail "$what: $(cat err)"
}

# refuses WHAT PIECE-OF-MESSAGE COMMAND...: exit status 1, one line that holds the piece, and nothing left behind
refuses() {
  what=$1 piece=$2; shift 2
  before=$(files)
  "$@" >out 2>err
  [ $? -eq 1 ] || fail "$what: exit status isn't 1"
  grep -qF -- "$piece" err || fail "$what: no '$piece' in: $(cat err)"
  [ "$(wc -l <err)" -eq 1 ] || fail "$what: not one line: $(cat err)"
  [ "$(files)" = "$before" ] || fail "$what: changed files"
}

original=$(cksum "$stock")
succeeds 'a dry run' "$apply" --script "$stock" --prefix "$work/p" --dry-run
[ "$(cat out)" = "$stock" ] || fail "the dry run names $(cat out)"
[ ! -e p ] || fail 'the dry run wrote something'

succeeds 'a copy' "$apply" --script "$stock" --prefix "$work/p"
[ -x p/bin/likwid-topology ] || fail "the copy isn't executable"
[ "$(ls p/bin)" = likwid-topology ] || fail "temporary files are left: $(ls p/bin)"
grep -q likwid_gputopo p/bin/likwid-topology || fail "the copy isn't patched"
p/bin/likwid-topology -v >out 2>err || fail "the copy doesn't run: $(cat err)"
"$stock" -v | cmp -s - out || fail "the copy's version differs"
succeeds 'a second time' "$apply" --script "$stock" --prefix "$work/p"
[ "$(cksum "$stock")" = "$original" ] || fail "the system's script was changed"

succeeds 'a prefix with a blank' "$apply" --script "$stock" --prefix "$work/with blank"
"with blank/bin/likwid-topology" -v >out || fail "the copy under 'with blank' doesn't run"
succeeds 'a relative prefix' "$apply" --script "$stock" --prefix relative
grep -qF ";$work/relative/share/lua/?.lua" relative/bin/likwid-topology || fail "a relative prefix isn't made absolute"
succeeds 'the first on PATH' env PATH="$work/p/bin:$(dirname "$stock"):$PATH" "$apply" --dry-run --prefix "$work/q"
[ "$(cat out)" = "$stock" ] || fail "took $(cat out), a copy of ours, instead of $stock"

refuses 'a copy of a copy' 'is patched already' "$apply" --script p/bin/likwid-topology --prefix "$work/q"
cp "$stock" foreign
refuses "somebody's file in the way" "won't overwrite" "$apply" --script "$stock" --output foreign
refuses 'LIKWID itself as the target' "won't overwrite" "$apply" --script foreign --output foreign
refuses 'a missing script' "can't read" "$apply" --script nowhere --prefix "$work/q"
refuses 'a folder as script' "can't read" "$apply" --script p --prefix "$work/q"
echo 'print("hello")' >other
refuses 'another program' "doesn't fit" "$apply" --script other --prefix "$work/q"
sed 's/^if print_csv then/if print_csv  then/' "$stock" >changed
refuses 'a changed version' "doesn't fit" "$apply" --script changed --prefix "$work/q"
sed 's/likwid.printAsciiBox(container);/likwid.printBoxes(container);/' "$stock" >changed
refuses 'one hunk that fits and one that does not' "doesn't fit" "$apply" --script changed --prefix "$work/q"
sed 's/^package.path/path/' "$stock" >changed
refuses 'a script without a module path' 'package.path 0 times' "$apply" --script changed --prefix "$work/q"
refuses 'a prefix that Lua would misread' 'choose another --prefix' "$apply" --script "$stock" --prefix "$work/it's"
mkdir tools
ln -s "$(command -v dirname)" tools/
refuses 'nothing on PATH' 'no likwid-topology on PATH' env PATH="$work/tools" /bin/sh "$apply" --prefix "$work/q"

sed 's/Version:   [0-9.]*/Version:   99.1/' "$stock" >newer
succeeds 'an untried version that fits' "$apply" --script newer --prefix "$work/q"
grep -qF 'LIKWID 99.1 is none of the versions' err || fail 'an untried version goes unmentioned'
sed 's/Version:   [0-9.]*/Version:   5.5.2/' "$stock" >candidate
succeeds 'a release candidate' "$apply" --script candidate --prefix "$work/q"
[ ! -s err ] || fail "a tried release candidate is called untried: $(cat err)"
"$apply" --script "$stock" --prefix "$work/q" 2>err >out || fail 'over its own copy'
[ ! -s err ] || fail "the tried version is called untried: $(cat err)"

succeeds 'undo' "$apply" --undo --prefix "$work/p"
[ ! -e p/bin/likwid-topology ] || fail 'undo left the copy'
refuses 'undo twice' 'nothing to undo' "$apply" --undo --prefix "$work/p"
refuses "undo of somebody's file" 'left foreign alone' "$apply" --undo --output foreign

"$apply" --nonsense >out 2>err
[ $? -eq 2 ] || fail "usage doesn't exit with 2"
"$apply" --prefix >out 2>err
[ $? -eq 2 ] || fail "a missing value doesn't exit with 2"

# The series for LIKWID's own repository: git takes it, the module in it is ours, and it asks the module.
succeeds 'the series for master' "$patches/master/format_patch.sh" mails 'A Person <person@example.org>'
mkdir -p tree/src/applications
cp "$stock" tree/src/applications/likwid-topology.lua
git -C tree init -q
for mail in mails/0001-*.patch mails/0002-*.patch; do
  git mailinfo message changes <"$mail" >headers || fail "$mail isn't a mail"
  grep -q '^Subject: likwid-topology: ' headers || fail "$mail has another subject: $(cat headers)"
  [ -s message ] || fail "$mail says nothing"
  grep -q CHANGELOG changes && fail "$mail changes the change log"
  git -C tree apply --include='src/applications/*' "$work/changes" || fail "$mail doesn't apply"
done
cmp -s tree/src/applications/likwid_gputopo.lua "$patches/../../plugin/likwid/likwid_gputopo.lua" || fail 'another module in the series'
grep -q 'gpu_caches.add_section' tree/src/applications/likwid-topology.lua || fail "the series doesn't change likwid-topology"

while read -r name; do
  [ -r "$patches/$name" ] || fail "series names $name, which isn't there"
done <"$patches/series"
[ "$failures" -eq 0 ]
