#!/bin/sh
# registers.sh [ARCH...]: a CSV table of what the kernels take, compiled from their PTX by ptxas (or what PTXAS names) for these
# architectures, or every one from sm_60 to sm_90: registers, bytes of static shared memory, and "spills" behind the registers
# where a kernel has any. registers-RELEASE.csv beside it is its output with ptxas of that release; TestRegisters compares them.
set -eu
cd "$(dirname "$0")"
[ $# != 0 ] || set -- 60 61 70 75 80 86 89 90
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
for arch; do
	for f in *.ptx; do
		echo "$arch ${f%.ptx}"
	done
done >"$work/jobs"
# ptxas is told to write a file of its own: it may remove its output first.
xargs -P "$(nproc)" -L 1 sh -c '"${PTXAS:-ptxas}" -arch="sm_$1" -v "$2.ptx" -o "$0/$1-$2.cubin" >"$0/$1-$2" 2>&1 || { cat "$0/$1-$2" >&2; exit 255; }' \
	"$work" <"$work/jobs"
while read -r arch family; do
	sed "s/^/$arch $family /" "$work/$arch-$family"
done <"$work/jobs" | awk -v archs="$*" '
	/Compiling entry function/ { split($0, q, "\047"); name = q[2]; key = $1 " " name; family[name] = $2; if (!(name in seen)) { seen[name] = ++n; names[n] = name } }
	/bytes stack frame/ { if ($0 !~ / 0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads/) spills[key] = " spills" }
	/Used [0-9]+ registers/ {
		match($0, /Used [0-9]+/); registers[key] = substr($0, RSTART + 5, RLENGTH - 5)
		if (match($0, /[0-9]+ bytes smem/)) { split(substr($0, RSTART, RLENGTH), s, " "); shared[name] = s[1] }
	}
	END {
		m = split(archs, a, " ")
		printf "family,kernel,shared"; for (i = 1; i <= m; i++) printf ",sm_%s", a[i]; print ""
		for (k = 1; k <= n; k++) {
			printf "%s,%s,%d", family[names[k]], substr(names[k], 8), shared[names[k]]
			for (i = 1; i <= m; i++) printf ",%s%s", registers[a[i] " " names[k]], spills[a[i] " " names[k]]
			print ""
		}
	}'
