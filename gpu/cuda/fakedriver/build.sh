#!/bin/sh
# build.sh OUT.so [contracted]: the fake driver with the kernels of ../kernels in it; libcublas.so and libnvidia-ml.so go beside
# it. Of contracted kernels a product and a sum become one operation wherever the compiler may, as nvcc's do.
set -eu
out=$(realpath -m "$1")
cd "$(dirname "$0")"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
flags="-std=c++17 -O2 -g -fPIC -Wall -ffp-contract=off -fno-stack-protector -I. -I../header -I../kernels"
# Every access of a kernel is checked by the emulator.
checks="-fsanitize=kernel-address --param asan-instrumentation-with-call-threshold=0 --param asan-stack=0 --param asan-globals=0"
for f in driver*.cc emu*.cc; do
	echo "$flags -c $f -o $work/${f%.cc}.o"
done >"$work/list"
# Lanes are computed side by side; the processor that compiles is the one that runs.
wide=
if grep -qw avx2 /proc/cpuinfo && grep -qw fma /proc/cpuinfo; then wide="-mavx2 -mfma"; fi
for f in ptx*.cc; do
	echo "$flags -std=c++20 -O3 -fno-math-errno -fno-trapping-math $wide -c $f -o $work/${f%.cc}.o"
done >>"$work/list"
contract=
if [ "${2:-}" = contracted ]; then
	grep -qw fma /proc/cpuinfo || { echo "build.sh: contracted kernels need a processor with FMA" >&2 && exit 1; }
	contract="-mfma -ffp-contract=fast"
fi
for f in ../kernels/*.cu; do
	[ -e "$f" ] || continue
	echo "$flags $checks $contract -DCAPGNN_EMU -x c++ -c $f -o $work/k_$(basename "$f" .cu).o"
done >>"$work/list"
xargs -P "$(nproc)" -L 1 g++ <"$work/list"
g++ -shared -o "$out" -Wl,-soname,libcuda.so.1 "$work"/*.o -static-libstdc++ -static-libgcc -lpthread
beside=$(dirname "$out")
gcc -O2 -g -fPIC -Wall -ffp-contract=off -shared cublas.c -o "$beside/libcublas.so" -ldl
gcc -O2 -g -fPIC -Wall -shared nvml.c -o "$beside/libnvidia-ml.so" -ldl
