# SPDX-License-Identifier: MPL-2.0
# shellcheck shell=bash
#
# Prepare a Debian host for building, trying or testing zcsi: root, packages, a running ZFS and a
# pool on a sparse file. Source it from scripts that run with `set -euo pipefail`. host_pool_destroy
# removes what host_pool_create made: it also stops the zfs-fuse that host_pool_create started, once
# no pool uses it. Installed packages stay.
#
# zfs-fuse is in Debian's main section; zfsutils-linux, for a kernel with the module, is in contrib.

# Seconds to wait for a condition before it counts as a failure; PATIENCE multiplies it on slow
# hosts.
HOST_DEADLINE=${HOST_DEADLINE:-$((20 * ${PATIENCE:-1}))}
HOST_FUSE_PID=/run/zcsi-zfs-fuse.pid
HOST_FUSE_CONNECTIONS=/sys/fs/fuse/connections
HOST_CONTRIB=/etc/apt/sources.list.d/zcsi-contrib

declare -A HOST_GROUPS=(
	[build]="gcc libc6-dev make pkg-config libnghttp2-dev libevent-dev libssl-dev libmd-dev
		libblkid-dev libprotobuf-c-dev protobuf-c-compiler libprotobuf-dev protobuf-compiler"
	[client]="python3-grpcio python3-protobuf protobuf-compiler libprotobuf-dev"
	[check]="libcmocka-dev python3-pytest python3-grpcio python3-grpc-tools python3-protobuf
		python3-hpack python3-prometheus-client python3-pytest-timeout openssl e2fsprogs
		openssh-server"
	[shells]="zsh fish"
	[alerts]="prometheus"
	[certs]="openssl"
	[nomad]="busybox-static iproute2 openssl redis-server"
	[kubernetes]="busybox-static containerd containernetworking-plugins iproute2 openssl runc"
	[image]="podman runc mmdebstrap iproute2"
	[deb]="debhelper dpkg-dev e2fsprogs fakeroot git libcmocka-dev mmdebstrap"
	[rpm]="rpm cpio git"
	[lab]="qemu-system-x86 qemu-utils mmdebstrap e2fsprogs restic"
	[fuzz]="clang libclang-rt-dev"
	[lint]="clang clang-tidy clang-format cppcheck shellcheck mandoc"
	[bench]="nghttp2-client g++ libgrpc++-dev protobuf-compiler-grpc protobuf-compiler
		libprotobuf-dev pkg-config"
)

# A root shell started by su lacks /usr/sbin in PATH, where zfs and zpool are.
PATH=$PATH:/usr/sbin:/sbin

host_say() {
	printf '%s\n' "$*"
}

host_die() {
	printf '%s: %s\n' "${0##*/}" "$*" >&2
	exit 1
}

# host_wait_for COMMAND...: run COMMAND until it succeeds, with its output hidden. Returns 1 after
# HOST_DEADLINE seconds.
host_wait_for() {
	local deadline=$((SECONDS + HOST_DEADLINE))
	until "$@" >/dev/null 2>&1; do
		((SECONDS < deadline)) || return 1
		sleep 0.05
	done
}

# host_quiet COMMAND...: run COMMAND. If it fails, show its output and end the script.
host_quiet() {
	local output
	output=$("$@" 2>&1 </dev/null) && return
	printf '%s\n' "$output" >&2
	host_die "failed: $*"
}

host_gone() {
	[[ ! -d /proc/$1 ]]
}

# host_root "$0" "$@": restart the script as root, unless it runs as root.
host_root() {
	((EUID != 0)) || return 0
	command -v sudo >/dev/null || host_die "needs root, and there is no sudo: run it as root"
	local name kept=()
	for name in BUILD K SLICE MATRIX PATIENCE; do # sudo drops the environment
		[[ -z ${!name+set} ]] || kept+=("$name=${!name}")
	done
	exec sudo env "${kept[@]}" "$@"
}

# Build the daemons. Under sudo, compile as the user who called it, so that the files stay theirs.
host_build() {
	local as=()
	[[ $(stat -c %U .) != "${SUDO_USER:-}" ]] || as=(runuser -u "$SUDO_USER" --)
	host_quiet "${as[@]}" env -u MAKEFLAGS -u MAKELEVEL make -j"$(nproc)" BUILD="${BUILD:-build}"
}

# ---- packages ----

host_kernel_zfs() {
	[[ -d /sys/module/zfs ]] || modprobe -qn zfs 2>/dev/null
}

# Print the package that provides zpool for this host; print nothing if zpool is installed.
host_pool_package() {
	if command -v zpool >/dev/null; then
		return
	elif host_kernel_zfs; then
		echo zfsutils-linux
	else
		echo zfs-fuse
	fi
}

host_missing() {
	local installed name
	installed=$(dpkg-query -W -f '${db:Status-Status} ${Package}\n' "$@" 2>/dev/null) || true
	for name; do
		grep -qxF "installed $name" <<<"$installed" || echo "$name"
	done
}

host_wanted() {
	local group
	for group; do
		if [[ $group == pool ]]; then
			host_pool_package
		else
			tr -s '[:space:]' '\n' <<<"${HOST_GROUPS[$group]}"
		fi
	done
}

# Run a command of apt while packages must not start the services they bring. The scripts start the
# services they need themselves, and stop them.
host_without_services() (
	policy=/usr/sbin/policy-rc.d
	if [[ ! -e $policy ]]; then
		trap 'rm -f $policy' EXIT
		printf '#!/bin/sh\nexit 101\n' >$policy
		chmod 755 $policy
	fi
	"$@"
)

host_apt() {
	host_quiet env DEBIAN_FRONTEND=noninteractive apt-get -q -y -o DPkg::Lock::Timeout=300 "$@"
}

host_can_install() {
	[[ $(apt-cache policy "$1") == *Candidate:\ [0-9]* ]]
}

# Print FILE:N, the apt entry of Debian's own release: line N of a .list, stanza N of a .sources.
host_debian_source() {
	local codename
	codename=$(. /etc/os-release && echo "${VERSION_CODENAME:-}")
	# shellcheck disable=SC2016 # apt's own $( )
	apt-get indextargets --format '$(SOURCESENTRY)' 'Created-By: Packages' 'Origin: Debian' \
		'Component: main' "Codename: $codename" | head -n 1
}

# Print that entry with contrib as its only component.
host_contrib_entry() {
	if [[ $1 == *.sources ]]; then
		awk -v RS= -v n="$2" '/(^|\n)Types:/ && ++stanza == n {
			sub(/(^|\n)Components:[^\n]*/, "\nComponents: contrib"); print }' "$1"
	else
		sed -n -E "$2s/^(deb +(\[[^]]*\] +)?[^ ]+ +[^ ]+).*/\1 contrib/p" "$1"
	fi
}

host_enable_contrib() {
	local source file
	source=$(host_debian_source)
	[[ -n $source ]] || host_die "$1 is in Debian's contrib section, and no apt source of Debian is" \
		"configured: install $1 by hand"
	file=$HOST_CONTRIB.${source##*.}
	file=${file%:*}
	host_contrib_entry "${source%:*}" "${source##*:}" >"$file"
	host_say "    $1 is in Debian's contrib section, which $file now enables"
	host_apt update
}

host_find_zfs() {
	host_can_install "$1" || host_enable_contrib "$1"
	host_can_install "$1" || host_die "Debian $(</etc/debian_version) has no $1: install" \
		"linux-headers-$(uname -r), zfs-dkms and zfsutils-linux, then try again"
}

# host_packages [GROUP...]: install the missing packages of these groups of HOST_GROUPS, or of
# "pool", the package that provides zpool. The default is build and pool.
host_packages() {
	local missing zfs
	(($# > 0)) || set -- build pool
	zfs=$(host_pool_package)
	mapfile -t missing < <(host_wanted "$@" | sort -u)
	mapfile -t missing < <(host_missing "${missing[@]}")
	((${#missing[@]} > 0)) || return 0
	command -v apt-get >/dev/null ||
		host_die "this is not Debian: install what its packages ${missing[*]} hold"
	if ((EUID != 0)); then
		sudo bash -euo pipefail -c '. "$0" && host_packages "$@"' "${BASH_SOURCE[0]}" "$@"
		return
	fi
	host_say "    installing ${missing[*]}"
	host_apt update
	[[ -z $zfs || " ${missing[*]} " != *" $zfs "* ]] || host_find_zfs "$zfs"
	host_without_services host_apt install --no-install-recommends "${missing[@]}"
}

# ---- ZFS ----

host_zfs_answers() {
	zpool list >/dev/null 2>&1
}

host_fuse_start() {
	command -v zfs-fuse >/dev/null ||
		host_die "zpool is installed and gets no answer: load the zfs module (modprobe zfs)"
	[[ -c /dev/fuse ]] || modprobe -q fuse || host_die "zfs-fuse needs /dev/fuse; in a container," \
		"--device /dev/fuse --cap-add SYS_ADMIN gives it"
	# zcsi-node reads there if zfs-fuse has answered every request. systemd mounts this file
	# system, but a container does not.
	mountpoint -q $HOST_FUSE_CONNECTIONS ||
		mount -t fusectl fusectl $HOST_FUSE_CONNECTIONS || true
	mkdir -p /var/run/zfs
	# zfs-fuse does not start if a killed one has left its process id file.
	[[ -n $(host_fuse_pid) ]] || rm -f $HOST_FUSE_PID
	zfs-fuse --no-kstat-mount --pidfile $HOST_FUSE_PID </dev/null >/dev/null 2>&1 || true
}

host_zfs_start() {
	! host_zfs_answers || return 0
	if host_kernel_zfs; then
		modprobe zfs
	else
		host_fuse_start
	fi
	host_wait_for host_zfs_answers || host_die "ZFS does not answer: $(zpool list 2>&1)"
}

# Print the process id of the zfs-fuse that host_zfs_start started, or nothing if it did not.
host_fuse_pid() {
	local pid
	pid=$(cat $HOST_FUSE_PID 2>/dev/null) || return 0
	[[ $(readlink "/proc/$pid/exe") != */zfs-fuse ]] || echo "$pid"
}

# Stop the zfs-fuse that host_zfs_start started, unless pools that others created still use it.
host_zfs_stop() {
	local pid
	pid=$(host_fuse_pid)
	[[ -n $pid && -z $(zpool list -H -o name) ]] || return 0
	kill "$pid"
	host_wait_for host_gone "$pid" || host_die "zfs-fuse, process $pid, does not stop"
	rm -f $HOST_FUSE_PID /var/run/zfs/zfs_socket
}

# Print "OpenZFS 2.1.11" or "zfs-fuse 0.7.0".
host_zfs_version() {
	if [[ -r /sys/module/zfs/version ]]; then
		echo "OpenZFS $(</sys/module/zfs/version)"
	else
		dpkg-query -W -f 'zfs-fuse ${source:Upstream-Version}' zfs-fuse
	fi
}

# ---- pools ----

host_pool_exists() {
	zpool list -H -o name "$1" >/dev/null 2>&1
}

# host_pool_is_ours NAME DIR: true if the pool NAME is on DIR/NAME.img, and not another pool of the
# same name.
host_pool_is_ours() {
	zpool status "$1" 2>/dev/null | grep -qF "$2/$1.img"
}

# Print the mount points of a pool's datasets, bind mounts too, the last one first.
host_pool_mounts() {
	local point
	awk -v pool="$1/" '{ split($0, half, " - "); split(half[2], fs, " ") }
		index(fs[2] "/", pool) == 1 { print $5 }' /proc/self/mountinfo | tac |
		while read -r point; do printf '%b\n' "$point"; done
}

host_pool_unmount() {
	local point
	host_pool_mounts "$1" | while IFS= read -r point; do
		umount "$point"
	done
}

# Unmount all ZFS file systems in the caller's own mount namespace. Otherwise this copy of the
# mounts would keep other users' datasets busy for as long as the namespace exists.
host_leave_mounts() {
	local point
	awk '{ split($0, half, " - ") } half[2] ~ /^(fuse\.)?zfs / { print $5 }' /proc/self/mountinfo |
		tac | while read -r point; do
		umount -l "$(printf '%b' "$point")" || true
	done
}

# host_pool_create NAME SIZE_MB DIR: create the pool NAME on DIR/NAME.img and the dataset NAME/zcsi.
# If DIR/NAME.img already holds the pool, imported or not, that pool is used.
host_pool_create() {
	local name=$1 size=$2 dir=$3 image=$3/$1.img
	host_zfs_start
	if host_pool_exists "$name"; then
		host_pool_is_ours "$name" "$dir" || host_die "there is another pool named $name"
	elif [[ -e $image ]]; then
		zpool import -o cachefile=none -d "$dir" "$name"
	else
		mkdir -p "$dir"
		truncate -s "${size}M" "$image"
		host_quiet zpool create -m none -o cachefile=none "$name" "$image"
		zfs create -o canmount=off -o mountpoint=none "$name/zcsi"
	fi
}

# host_pool_destroy NAME DIR: destroy the pool and everything in it and remove its file; OK if it
# does not exist. The destroy is retried, because zfs-fuse reports the pool as busy for a moment
# after an unmount.
host_pool_destroy() {
	local name=$1 dir=$2
	if host_pool_is_ours "$name" "$dir"; then
		host_pool_unmount "$name"
		host_wait_for zpool destroy "$name" || zpool destroy "$name"
	fi
	rm -f "$dir/$name.img" "/run/zcsi/${name}_2F"*.lock
	host_zfs_stop
}
