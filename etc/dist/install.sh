#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# install.sh [--prefix DIR] [--sysconfdir DIR] [--destdir DIR] [--uninstall]
#
# Install this binary release, or remove it. It keeps a list of its files; an upgrade removes those
# of the former release. Configurations that are there are kept.
set -eu
# The daemons are not root.
umask 022

usage() {
	echo "usage: install.sh [--prefix DIR] [--sysconfdir DIR] [--destdir DIR] [--uninstall]" >&2
	exit 2
}

fail() {
	echo "install.sh: $1" >&2
	exit 1
}

prefix=/usr/local sysconfdir='' destdir='' uninstall=''
while [ $# -gt 0 ]; do
	case $1 in
	--prefix | --sysconfdir | --destdir)
		[ $# -ge 2 ] || usage
		# They are put into files by sed.
		case $2 in
		/*[!A-Za-z0-9/._+-]* | [!/]* | '' | *//* | */../* | */..) fail "$1 '$2': want an absolute path of letters, digits and /._+-" ;;
		esac
		case $1 in
		--prefix) prefix=${2%/} ;;
		--sysconfdir) sysconfdir=${2%/} ;;
		--destdir) destdir=${2%/} ;;
		esac
		shift
		;;
	--uninstall) uninstall=1 ;;
	*) usage ;;
	esac
	shift
done
[ -n "$prefix" ] || fail "the prefix cannot be /"
if [ -z "$sysconfdir" ]; then
	case $prefix in
	/usr | /usr/local) sysconfdir=/etc ;;
	*) sysconfdir=$prefix/etc ;;
	esac
fi
here=$(cd "$(dirname "$0")" && pwd)
data=share/tallywatt
to=$destdir$prefix
confdir=$sysconfdir/tallywatt
list=$to/$data/installed

# Remove the files of the list, and those of its folders (which end in /) that are empty then.
remove_listed() {
	listed=$(cat "$list")
	printf '%s\n' "$listed" | grep -v '/$' | while read -r file; do
		rm -f "$to/$file"
	done
	printf '%s\n' "$listed" | grep '/$' | LC_ALL=C sort -r | while read -r folder; do
		rmdir "$to/$folder" 2>/dev/null || :
	done
}

if [ -n "$uninstall" ]; then
	[ -f "$list" ] || fail "$list: there is none: nothing of this kind is installed below $prefix"
	for sample in "$to/$data"/examples/*.conf; do
		conf=$destdir$confdir/$(basename "$sample")
		if cmp -s "$sample" "$conf"; then
			rm -f "$conf"
		elif [ -e "$conf" ]; then
			echo "kept $conf"
		fi
	done
	rmdir "$destdir$confdir" 2>/dev/null || :
	case $sysconfdir in "$prefix"/*) rmdir "$destdir$sysconfdir" 2>/dev/null || : ;; esac
	remove_listed
	rmdir "$to" 2>/dev/null || :
	exit 0
fi

[ -d "$here/files" ] || fail "$here/files: there is none: run install.sh of the unpacked release"
(cd "$here" && sha256sum --quiet --strict -c SHA256SUMS) || fail "a file is not what was released"
for program in "$here"/files/libexec/tallywatt/*; do
	# 126 and 127 are of a shell or a loader that cannot start it.
	status=0 && said=$("$program" --version 2>&1 </dev/null) || status=$?
	[ $status -lt 126 ] || fail "$(basename "$program") does not run here; it needs glibc $(cat "$here/glibc"): $said"
done

new=$(cd "$here/files" && find . -type f | sed 's|^\./||' | LC_ALL=C sort)
links=$(cd "$here/files/libexec/tallywatt" && for p in *; do [ "$p" = tw-ask ] || echo "bin/$p"; done)
new="$new
$links
$data/install.sh
$data/installed"
printf '%s\n' "$new" | while read -r file; do
	[ ! -e "$to/$file" ] && [ ! -L "$to/$file" ] && continue
	[ -f "$list" ] && grep -qxF "$file" "$list" ||
		fail "$to/$file: is there, and not by install.sh; remove what put it there ('make uninstall')"
done || exit 1
[ ! -f "$list" ] || remove_listed

# Folders that were there before stay.
folders=$(printf '%s\n' "$new" |
	awk -F/ '{ path = ""; for (i = 1; i < NF; i++) { path = path $i "/"; print path } }' | LC_ALL=C sort -u |
	while read -r folder; do [ -d "$to/$folder" ] || echo "$folder"; done)
mkdir -p "$to/bin" "$to/$data" "$destdir$confdir"
cp -R "$here/files/." "$to/"
for link in $links; do
	ln -s "../libexec/tallywatt/${link#bin/}" "$to/$link"
done
cp "$here/install.sh" "$to/$data/install.sh"
printf '%s\n' "$new" "$folders" | sed '/^$/d' >"$list"
# The release may have been unpacked with another umask.
(cd "$to" && xargs chmod go=rX <"$list")

# Units and samples were made for /usr/local.
sed -i -e "s|/usr/local|$prefix|g" -e "s|/etc/tallywatt/|$confdir/|g" \
	"$to"/lib/systemd/system/tw-* "$to/$data"/examples/*.conf
if [ "$prefix" != /usr/local ]; then
	for daemon in tw-collector tw-estimator; do
		printf 'shipped-models = %s\n' "$prefix/$data/models" >>"$to/$data/examples/$daemon.conf"
	done
fi
for sample in "$to/$data"/examples/*.conf; do
	conf=$destdir$confdir/$(basename "$sample")
	if [ ! -e "$conf" ] && [ ! -L "$conf" ]; then
		cp "$sample" "$conf"
	elif ! cmp -s "$sample" "$conf"; then
		echo "kept $conf; the sample is $sample"
	fi
done

echo "installed below $prefix. To start the collector and the model server:"
case $prefix in
/usr | /usr/local) echo "  systemctl daemon-reload && systemctl enable --now tw-collector tw-server" ;;
*)
	echo "  systemctl enable --now $prefix/lib/systemd/system/tw-collector.service $prefix/lib/systemd/system/tw-server.service"
	echo "'tallywatt models', 'explain', 'export' and 'calibrate' need '--model-db $prefix/$data/models'"
	;;
esac
