#!/usr/bin/env bash
# deb_test.sh CMAKE SOURCE BUILD: builds the Debian packages in BUILD, and installs, uses and purges them on a copy of this
# machine's root that is thrown away: an overlay in a mount namespace of its own.
set -euo pipefail
cmake=$1 source=$2 build=$3

skip() { echo "skipped: $*"; exit 77; }
fail() { echo "failed: $*" >&2; exit 1; }
for tool in dpkg-deb dpkg-shlibdeps lintian unshare gzip; do
  command -v "$tool" >/dev/null || skip "$tool isn't installed"
done
[[ $(id -u) -eq 0 ]] || skip "packages are installed by root alone"
unshare --mount true 2>/dev/null || skip "no mount namespace can be made here (in a chroot: bind its folder on itself first)"
[[ -z $(dpkg-query -W -f='${Package}' gputopo 2>/dev/null) && ! -e /var/lib/gputopo ]] || skip "gputopo is installed here"

if [[ ${4-} == inside ]]; then
  # In the overlay, as apt would call dpkg.
  export DEBIAN_FRONTEND=noninteractive PATH=/usr/sbin:/usr/bin:/sbin:/bin LC_ALL=C
  unset HWLOC_PLUGINS_PATH GPUTOPO_STORE CUDACXX
  mapfile -t packages < <(find "$build" -maxdepth 1 -name '*.deb')
  find /etc /opt /usr /var | sort >/tmp/before
  dpkg -i "${packages[@]}"
  gputopo discover --device sim:gt200 --format json -o /tmp/gt200.json || [[ $? -eq 3 ]]
  [[ -s /tmp/gt200.json ]] || fail "the installed command measures nothing"
  man -w gputopo gputopo-formats hwloc-gputopo >/dev/null || fail "manual pages are missing"
  if command -v lstopo-no-graphics >/dev/null; then
    drawn=$(GPUTOPO_SIMULATE=h200 lstopo-no-graphics --of console -)
    [[ $drawn == *'Misc(GPUCache) L2 (60MB)'* ]] || fail "lstopo doesn't find the plugin by itself"
  fi
  if command -v likwid-topology >/dev/null; then
    drawn=$(GPUTOPO_SIMULATE=h200 likwid-topology-gputopo -g 2>&1) || true
    [[ $drawn == *'NVIDIA H200'* ]] || fail "likwid-topology-gputopo shows no GPU"
  fi
  mkdir -p /var/lib/gputopo && cp /tmp/gt200.json /var/lib/gputopo/
  names=(gputopo libhwloc-plugin-gputopo gputopo-likwid gputopo-dev)
  dpkg --purge "${names[@]}"
  [[ -s /var/lib/gputopo/gt200.json ]] || fail "purging removed the store without a yes"
  dpkg -i "${packages[@]}"
  echo 'gputopo gputopo/remove-store boolean true' | debconf-set-selections
  dpkg --purge "${names[@]}"
  find /etc /opt /usr /var | sort >/tmp/after
  left=$(comm -13 /tmp/before /tmp/after | { grep -v -e '^/var/tmp/' -e '^/var/cache/' -e '^/var/lib/dpkg/' -e '^/var/log/' || true; })
  [[ -z $left ]] || fail "left behind: $left"
  exit 0
fi

# Whoever makes packages is their maintainer.
export DEBFULLNAME='A Person' DEBEMAIL=person@example.org
# What the packages hold is built like any other, but for the prefix.
(cd "$source" && "$cmake" --preset package -B "$build" -DCMAKE_UNITY_BUILD=ON && "$cmake" --build "$build" --target product) >"$build.log" 2>&1 ||
  { tail -n 30 "$build.log"; exit 1; }
find "$build" -maxdepth 1 -name '*.deb' -delete
(cd "$build" && "$(dirname "$cmake")/cpack" -G DEB) >>"$build.log" 2>&1 || { tail -n 30 "$build.log"; exit 1; }
maintainer=$(dpkg-deb -f "$build"/gputopo_*.deb Maintainer)
[[ $maintainer == "$DEBFULLNAME <$DEBEMAIL>" ]] || fail "the maintainer is $maintainer"
(cd "$build" && DEBEMAIL=nobody "$(dirname "$cmake")/cpack" -G DEB -B "$build/refused") >"$build.refused" 2>&1 && fail "packages of nobody were made"
grep -q 'set DEBFULLNAME and DEBEMAIL' "$build.refused" || fail "nobody is told what is missing: $(cat "$build.refused")"
lintian --fail-on error "$build"/*.deb || fail "lintian finds errors"
depends=$(dpkg-deb -f "$build"/gputopo_*.deb Depends)
[[ $depends != *cuda* && $depends != *gcc-1* && $depends != *-dev* ]] || fail "a compute node would need: $depends"

script=$(readlink -f "$0") root=$(mktemp -d)
trap 'rmdir "$root"' EXIT
status=0
# shellcheck disable=SC2016
unshare --mount bash -c '
  set -e
  mount -t tmpfs gputopo "$1"
  mkdir "$1/upper" "$1/work" "$1/root"
  mount -t overlay gputopo -o "lowerdir=/,upperdir=$1/upper,workdir=$1/work" "$1/root" || exit 77
  mount --bind /proc "$1/root/proc"
  mount --bind /sys "$1/root/sys"
  mount --bind /dev "$1/root/dev"
  mkdir -p "$1/root$3"
  cp "$3"/*.deb "$1/root/tmp/"
  chroot "$1/root" bash "$2" cmake source /tmp inside' bash "$root" "$script" "$build" || status=$?
[[ $status -ne 77 ]] || skip "no overlay can be mounted here"
exit "$status"
