#!/bin/sh
# Runs the golden bit tests as compiled with fused multiply-add: on amd64 with
# GOAMD64=v3, and on arm64 under qemu-user when this machine has it.
set -eu
cd "$(dirname "$0")"
run() { echo "$*" && env "$@" go test -count=1 ${EXEC:-} .; }

if [ "$(go env GOHOSTARCH)" = amd64 ] && grep -qw fma /proc/cpuinfo; then
	run GOARCH=amd64 GOAMD64=v3
fi
if [ "$(go env GOHOSTARCH)" = arm64 ]; then
	run GOARCH=arm64
elif command -v qemu-aarch64 >/dev/null; then
	EXEC="-exec qemu-aarch64" run GOARCH=arm64
else
	echo "arm64 not checked: install qemu-user" >&2
	exit 1
fi
