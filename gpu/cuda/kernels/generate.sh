#!/bin/sh
# generate.sh [FOLDER]: the PTX of every family of kernels, into FOLDER (default: this one). Needs nvcc of CUDA 11.8.
# Drivers from 520 on read it; they compile it for their GPU (sm_60 and later) when it is loaded, and keep the result.
set -eu
export LC_ALL=C # the order of files
out=$(realpath "${1:-$(dirname "$0")}")
cd "$(dirname "$0")"
for f in *.cu; do
	nvcc -std=c++17 -O3 -arch=compute_60 -Wno-deprecated-gpu-targets -ptx "$f" -o "$out/${f%.cu}.ptx"
	# Names that belong to one file carry a hash of the file's path.
	sed -i 's/\(_INTERNAL_\|_GLOBAL__N__\)[0-9a-f]\{8\}_/\100000000_/g' "$out/${f%.cu}.ptx"
done
# What TestSums compares where there is no nvcc.
{
	sha256sum *.cu *.cuh
	(cd "$out" && sha256sum *.ptx)
	sha256sum generate.sh
} >"$out/SHA256SUMS"
