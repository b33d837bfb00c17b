#!/usr/bin/env bash
# `writer | grep -q` fails under pipefail whenever grep matched before the writer was done, and so may pass or fail by
# chance. Searches scripts, CMake files and the shell commands in tests: pipes_test.sh FOLDER
set -euo pipefail
cd "$1"
pipe='\|[[:space:]]*grep[[:space:]]+(-[a-zA-Z]*q|--quiet|--silent|-m|--max-count)'
# The pattern has to find what it is for, or the search below proves nothing.
for bad in 'a | grep -q b' 'a |grep -Fqx b' 'a | grep --quiet b' 'a | grep -m 1 b'; do
  [[ $bad =~ $pipe ]] || { echo "the pattern misses: $bad"; exit 1; }
done
# A line on which only a comment holds it is about it.
found=$(find . \( -name '.git' -o -name 'build*' \) -prune -o -type f \
  \( -name '*.sh' -o -name '*.cpp' -o -name '*.hpp' -o -name '*.lua' -o -name '*.py' -o -name 'CMakeLists.txt' \
  -o -name '*.cmake' -o -path './.ci/*' \) -exec grep -nHE "$pipe" {} + |
  grep -vE '^[^:]*:[0-9]+:[[:space:]]*(#|//|for bad in)' || true)
[[ -z $found ]] || { echo "$found"; echo "keep the output in a variable, or let grep read it all"; exit 1; }
