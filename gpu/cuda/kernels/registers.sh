#!/bin/sh
# registers.sh: a table of what the kernels take, compiled from their PTX by ptxas for every architecture: registers, bytes of
# static shared memory, and "spills" behind the registers where a kernel has any. docs/bench/gpu-kernels.md holds its output.
set -eu
cd "$(dirname "$0")"
archs="60 61 70 75 80 86 89 90"
for arch in $archs; do
	for f in *.ptx; do
		ptxas -arch="sm_$arch" -v "$f" -o /dev/null 2>&1 | sed "s/^/$arch ${f%.ptx} /"
	done
done | awk -v archs="$archs" '
	/Compiling entry function/ { split($0, q, "\047"); name = q[2]; key = $1 " " name; family[name] = $2; if (!(name in seen)) { seen[name] = ++n; names[n] = name } }
	/bytes stack frame/ { if ($0 !~ / 0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads/) spills[key] = " spills" }
	/Used [0-9]+ registers/ {
		match($0, /Used [0-9]+/); registers[key] = substr($0, RSTART + 5, RLENGTH - 5)
		if (match($0, /[0-9]+ bytes smem/)) { split(substr($0, RSTART, RLENGTH), s, " "); shared[name] = s[1] }
	}
	END {
		m = split(archs, a, " ")
		printf "| family | kernel | shared |"; for (i = 1; i <= m; i++) printf " sm_%s |", a[i]
		printf "\n|---|---|---|"; for (i = 1; i <= m; i++) printf "---|"; print ""
		for (k = 1; k <= n; k++) {
			printf "| %s | %s | %d |", family[names[k]], substr(names[k], 8), shared[names[k]]
			for (i = 1; i <= m; i++) printf " %s%s |", registers[a[i] " " names[k]], spills[a[i] " " names[k]]
			print ""
		}
	}'
