#!/bin/sh
# Installs Stead on this machine: the executable, and a service that keeps it running. Run it again to upgrade or repair.
#
#   sh install.sh --file ./stead            for the machine: /usr/local/bin/stead, a user and a service of systemd
#   sh install.sh --file ./stead --user     for yourself: ~/.local/bin/stead and a service of your own; no root
#   sh install.sh --uninstall               removes the executable and the service; what Stead has stored stays
set -eu

# Where this release is published; the build of a release writes it here.
default_url=''

usage() {
  cat <<'TEXT'
Usage: install.sh [--file FILE] [--sha256 SUM] [--prefix DIR] [--data-dir DIR] [--user] [--no-service] [--uninstall]

  --file FILE     the executable; without it stead-<system>-<architecture> beside this script is taken,
                  or else downloaded from STEAD_DOWNLOAD_URL, by default where this release is published
  --sha256 SUM    what it must sum up to; else FILE.sha256 or SHA256SUMS beside it says so
  --prefix DIR    where bin/stead goes: /usr/local, with --user ~/.local
  --data-dir DIR  where the service keeps everything
  --user          for the present user, without root
  --no-service    the executable alone
  --uninstall     removes what was installed; the data folder stays

Exit codes: 0 done, 1 failed and nothing changed, 2 wrong usage, 3 the upgrade went back by itself.
TEXT
}

say() { printf '%s\n' "$*"; }
fail() { printf 'install.sh: %s\n' "$*" >&2; exit 1; }
misuse() { printf 'install.sh: %s (--help)\n' "$*" >&2; exit 2; }
has() { command -v "$1" >/dev/null 2>&1; }

file='' sum='' prefix='' data_dir='' for_user=false with_service=true uninstall=false
while [ $# -gt 0 ]; do
  case $1 in
    --file | --sha256 | --prefix | --data-dir)
      if [ $# -lt 2 ] || [ -z "$2" ]; then misuse "$1 needs a value"; fi
      case $1 in
        --file) file=$2 ;;
        --sha256) sum=$2 ;;
        --prefix) prefix=$2 ;;
        --data-dir) data_dir=$2 ;;
      esac
      shift
      ;;
    --user) for_user=true ;;
    --no-service) with_service=false ;;
    --uninstall) uninstall=true ;;
    -h | --help) usage; exit 0 ;;
    *) misuse "unknown option $1" ;;
  esac
  shift
done

if [ -z "$prefix" ]; then
  if $for_user; then prefix=${HOME:?}/.local; else prefix=/usr/local; fi
fi
target=$prefix/bin/stead

# Has the machine a manager of services that answers? In a container there is often none.
has_manager() {
  case $(uname -s) in
    Darwin) return 0 ;;
    *) [ -d /run/systemd/system ] && has systemctl ;;
  esac
}

# stead service …, of the machine or of the user.
service() {
  action=$1
  shift
  if $for_user; then set -- "$@" --user; fi
  "$target" service "$action" "$@"
}

remove() {
  if [ -x "$target" ] && has_manager; then service uninstall; fi
  rm -f "$target" "$target.before-upgrade"
  say "Removed $target. What Stead has stored is where it was."
}

# As the files of a release are named: stead-linux-x64, stead-linux-x64-musl, stead-darwin-arm64.
platform() {
  case $(uname -s) in
    Linux) system=linux ;;
    Darwin) system=darwin ;;
    *) fail "there is no Stead for $(uname -s)" ;;
  esac
  case $(uname -m) in
    x86_64 | amd64) machine=x64 ;;
    aarch64 | arm64) machine=arm64 ;;
    *) fail "there is no Stead for $(uname -m)" ;;
  esac
  libc=''
  if [ $system = linux ] && ! [ -e /lib64/ld-linux-x86-64.so.2 ] && ! [ -e /lib/ld-linux-aarch64.so.1 ]; then libc=-musl; fi
  say "$system-$machine$libc"
}

fetch() {
  if has curl; then
    curl --fail --silent --show-error --location --proto '=https,http' --output "$2" "$1"
  elif has wget; then
    wget -q -O "$2" "$1"
  else
    fail "neither curl nor wget is here: download the executable and name it with --file"
  fi
}

# Sets file, and sum where something beside the file tells it. With a file no network is used.
find_file() {
  name=stead-$(platform)
  if [ -z "$file" ]; then
    here=$(dirname "$0")
    if [ -f "$here/$name" ]; then
      file=$here/$name
    else
      url=${STEAD_DOWNLOAD_URL:-$default_url}
      url=${url%/}
      if [ -z "$url" ]; then
        fail "no $name is beside this script: set STEAD_DOWNLOAD_URL to the address of a release, or name the executable with --file"
      fi
      file=$work/$name
      say "Downloading $name from $url …"
      fetch "$url/$name" "$file" || fail "$url/$name cannot be had"
      fetch "$url/SHA256SUMS" "$work/SHA256SUMS" || fail "its checksum in $url/SHA256SUMS cannot be had"
    fi
  fi
  [ -f "$file" ] || fail "there is no file $file"
  [ -z "$sum" ] || return 0
  if [ -f "$file.sha256" ]; then
    sum=$(cut -d ' ' -f 1 "$file.sha256")
  elif [ -f "$(dirname "$file")/SHA256SUMS" ]; then
    sum=$(sed -n "s/^\([0-9a-f]\{64\}\)[ *]*$(basename "$file")\$/\1/p" "$(dirname "$file")/SHA256SUMS")
  fi
  if [ -z "$sum" ] && [ "$file" = "$work/$name" ]; then fail "SHA256SUMS does not name $name"; fi
}

sum_of() {
  if has sha256sum; then
    sha256sum "$1" | cut -d ' ' -f 1
  elif has shasum; then
    shasum -a 256 "$1" | cut -d ' ' -f 1
  else
    fail "neither sha256sum nor shasum is here to compare the checksum"
  fi
}

check_file() {
  if [ -z "$sum" ]; then
    say "No checksum beside $file: it is taken as it is."
    return
  fi
  actual=$(sum_of "$file")
  [ "$actual" = "$sum" ] || fail "$file sums up to $actual, not to $sum: it is not what was published"
}

# In place by one rename, so that there is always a whole executable, and one that runs can be replaced.
put_in_place() {
  mkdir -p "$prefix/bin" 2>/dev/null || true
  [ -w "$prefix/bin" ] || fail "$prefix/bin cannot be written: run this as root, or with --user"
  cp "$file" "$target.new"
  chmod 0755 "$target.new"
  if ! found=$("$target.new" version 2>&1); then
    rm -f "$target.new"
    fail "$file does not run on this machine ($(platform)): $found"
  fi
  mv -f "$target.new" "$target"
}

# Agents that run as processes are isolated by bubblewrap. As root it is installed, else the command is named.
offer_bubblewrap() {
  if [ "$(uname -s)" != Linux ] || has bwrap; then return 0; fi
  command=''
  for candidate in 'apt-get install -y' 'dnf install -y' 'yum install -y' 'zypper --non-interactive install' \
    'pacman -S --noconfirm' 'apk add'; do
    if [ -z "$command" ] && has "${candidate%% *}"; then command="$candidate bubblewrap"; fi
  done
  if [ -n "$command" ] && ! $for_user && [ "$(id -u)" -eq 0 ] && $command >/dev/null 2>&1 </dev/null; then
    say "Installed bubblewrap, which isolates agents."
  elif [ -n "$command" ]; then
    say "Agents that run as processes are not isolated without bubblewrap: sudo $command"
  else
    say "Agents that run as processes are not isolated without bubblewrap: install it"
  fi
}

is_same() { [ -x "$target" ] && cmp -s "$file" "$target"; }
has_service() { [ -x "$target" ] && service status >/dev/null 2>&1; }

install() {
  work=$(mktemp -d)
  trap 'rm -rf "$work"' EXIT
  trap 'exit 1' HUP INT TERM
  find_file
  check_file
  if $with_service && has_manager && ! $for_user && [ "$(id -u)" -ne 0 ]; then
    fail "the service of a machine needs root: run this with sudo, or with --user"
  fi
  if $with_service; then offer_bubblewrap; fi
  if is_same; then
    say "$target is this version already."
  elif $with_service && has_manager && has_service; then
    # The program knows how to replace itself: backup, health, and back again when it is not well.
    if $for_user; then set -- --user; else set --; fi
    "$target" upgrade --from "$file" --yes ${sum:+--sha256 "$sum"} "$@" || exit $?
    return
  else
    put_in_place
    say "Installed $target: $("$target" version)"
  fi
  $with_service || return 0
  if ! has_manager; then
    say "No systemd runs here: start it with $target serve"
    return
  fi
  if has_service; then return; fi
  if [ -n "$data_dir" ]; then set -- --data-dir "$data_dir"; else set --; fi
  service install "$@"
  show_link
}

# The service has printed a link into its log; whoever installs it should not have to look there.
show_link() {
  folder=${data_dir:-/var/lib/stead}
  if $for_user; then folder=${data_dir:-${XDG_DATA_HOME:-${HOME:?}/.local/share}/stead}; fi
  if link=$(as_owner env STEAD_SETTINGS="$folder/stead.env" DATA_DIR="$folder" "$target" user setup-link 2>/dev/null); then
    say "Make the first account at $link"
  fi
}

as_owner() {
  if $for_user || ! has runuser; then "$@"; else runuser -u stead -- "$@"; fi
}

if $uninstall; then remove; else install; fi
case :$PATH: in
  *":$prefix/bin:"*) ;;
  *) $uninstall || say "$prefix/bin is not on your PATH." ;;
esac
