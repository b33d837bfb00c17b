#!/usr/bin/env bash
# install_test.sh CMAKE BUILD PREFIX PLUGIN_FOLDER HWLOCS_FOLDER: what is installed to a prefix of one's own, and used from there.
set -euo pipefail
cmake=$1 build=$2 prefix=$3 plugins=$4 hwlocs=$5
[[ $plugins = /* ]] && { echo "skipped: the plugin's folder is absolute"; exit 77; }
rm -rf "$prefix"
for component in command development hwloc licence; do
  "$cmake" --install "$build" --prefix "$prefix" --component "$component"
done >"$prefix.log"

# The line that makes hwloc find the plugin is the one that was printed.
line=$(sed -n 's/^-- For hwloc to find the plugin: //p' "$prefix.log")
[[ $line == "export HWLOC_PLUGINS_PATH=$prefix/$plugins:$hwlocs" ]]
drawn=$(eval "$line"; GPUTOPO_SIMULATE=h200 lstopo-no-graphics --of console -)
[[ $drawn == *'Misc(GPUCache) L2 (60MB)'* ]]

# A C program through pkg-config, and one through CMake.
PKG_CONFIG_PATH=$(dirname "$(find "$prefix" -name gputopo.pc)")
export PKG_CONFIG_PATH
[[ -f $(pkg-config --variable=schema gputopo) ]]
[[ $(pkg-config --variable=pluginsdir gputopo) == "$prefix/$plugins" ]]
mkdir -p "$prefix/try"
cat >"$prefix/try/try.c" <<'C'
#include <gputopo_hwloc.h>
int main(void) { return gputopo_hwloc_list_has_sm("0-1,4", 4) ? 0 : 1; }
C
# shellcheck disable=SC2046
cc -std=c99 "$prefix/try/try.c" $(pkg-config --cflags --libs gputopo hwloc) -o "$prefix/try/by-pkg-config"
"$prefix/try/by-pkg-config"
cat >"$prefix/try/CMakeLists.txt" <<'CMAKE'
cmake_minimum_required(VERSION 3.25)
project(try C)
find_package(gputopo 0.1 REQUIRED)
add_executable(by-cmake try.c)
target_link_libraries(by-cmake gputopo::hwloc)
file(READ ${gputopo_SCHEMA} schema)
CMAKE
"$cmake" -G Ninja -S "$prefix/try" -B "$prefix/try/build" -DCMAKE_PREFIX_PATH="$prefix" >"$prefix/try/log" || { cat "$prefix/try/log"; exit 1; }
"$cmake" --build "$prefix/try/build" >>"$prefix/try/log"
"$prefix/try/build/by-cmake"

# Completion knows the commands and options of the installed command.
export PATH=$prefix/bin:$PATH
# shellcheck disable=SC1091
source "$prefix/share/bash-completion/completions/gputopo"
complete_words() { COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); COMPREPLY=(); _gputopo; echo " ${COMPREPLY[*]} "; }
[[ $(complete_words gputopo '') == *' discover '*' compare '* ]]
[[ $(complete_words gputopo export --) == *' --hwloc-xml '* ]]
[[ $(complete_words gputopo '') != *' --'* ]]
[[ $(complete_words gputopo compare --format '') == ' table json ' ]]
[[ $(complete_words gputopo discover --only l1,tex) == ' l1,texture ' ]]
[[ $(complete_words gputopo models --truth '') != *' -'* ]]
[[ $(complete_words gputopo bench at) == ' atomics ' ]]
[[ $(complete_words gputopo discover --device sim:h) == *' sim:h200 '* ]]
[[ $(complete_words gputopo discover --device sim : h) == *' h200 '* ]]

[[ -f $prefix/share/man/man1/gputopo.1 && -n $(find "$prefix/share/doc" -name LICENSE) ]]
[[ -f $prefix/share/gputopo/prometheus/gputopo.rules.yml ]]
