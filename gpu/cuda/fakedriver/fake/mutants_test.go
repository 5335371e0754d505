//go:build cuda

package fake

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// mutant is a bug put into a kernel: the n-th occurrence of old in a file becomes new, and the emulator must say want about the
// script.
type mutant struct {
	name, file, old, new string
	n                    int
	script, want         string
}

// A script is right for the kernel as it is: it must run without a word before the bug is put in.
const (
	columnSums = `buffer m 9600
buffer part 400
launch capgnn_col_sum 1 1 256 0 100 24 @m 24 @part 100
`
	transpose = `buffer src 16384
buffer dst 16384
launch capgnn_transpose 1 1 256 0 64 64 @dst 64 @src 64
`
	product = `buffer a 16384
buffer b 16384
buffer c 16384
launch capgnn_gemm_nn64 1 1 256 0 @c 64 64 64 64 @a 64 @b 64 0 0 0 0 0 0 0 0.0 0 0
`
	softmax = `buffer x 640
buffer labels 40
buffer part 8
launch capgnn_softmax_loss 1 1 256 0 10 16 @x 16 0 0 0 @labels 1.0 @part
`
	// Two rows of 3000 entries in a graph of two columns: one block shares out each of them.
	hubs = `buffer begin 16
longs begin 0 3000
buffer end 16
longs end 3000 3000
buffer indices 24000
buffer x 256
buffer y 256
launch capgnn_spmm_f32 2 1 256 0 @y 32 @x 32 32 32 0 @begin @end @indices 0 2 0 2 1 0 0 0 0.0 0 0 0 0 0 0 0.0 0 0 0.0 0 0
`
	gradient = `buffer dh 12800
buffer x 12800
buffer dz 12800
buffer ones 400
floats ones 1
buffer part 1200
launch capgnn_epilogue_backward 1 1 256 9600 32 100 @dh 100 @x 100 @dz 100 @ones 0 @part 0 1 1 0 @ones @ones 0 0 1.0 0 0
`
	scatter = `buffer dst 400
buffer src 400
buffer rows 40
ints rows 0 1
launch capgnn_scatter_add 1 1 256 0 10 10 @dst 10 @src 10 @rows
`
	// Rows of 9 elements that begin 12 elements apart in one matrix and 9 in the other.
	unaligned = `buffer a 480
buffer b 480
launch capgnn_move_ff 1 1 256 0 10 9 @a 12 @b 9 0
`
	attention = `buffer begin 8
buffer end 8
longs end 3000 0
buffer indices 12000
buffer t 128
buffer s 4
buffer o 128
buffer lse 4
buffer tops 8
launch capgnn_gat_softmax 2 1 256 0 @lse 1 @tops @begin @end @indices 0 1 @s 1 0 0 0 0 0 0 0 @s 1 0.25 0 1 1 1
launch capgnn_gat_sum_32 2 1 256 0 @o 32 @tops @begin @end @indices 0 1 @t @s 4294967328 0 0 0 0 0 0 0 0 @s 1 0 0.25 0 1 137438953473 1
`
)

var mutants = []mutant{
	{"column sums without barrier", "reduce.cu", "__syncthreads();", "", 1, columnSums, "no barrier between"},
	{"column sums beyond the last row", "reduce.cu", "i < to;", "i <= to;", 1, columnSums, "read of 4 bytes"},
	{"column sums with a barrier that half of the block misses", "reduce.cu", "__syncthreads();", "if (warp < 4) __syncthreads();", 1,
		columnSums, "__syncthreads"},
	{"next tile before the last is read", "rows.cu", "__syncthreads();", "", 2, transpose, "no barrier between"},
	{"tile read before it is written", "rows.cu", "__syncthreads();", "", 1, transpose, "no barrier between"},
	{"tile one row too short", "rows.cu", "tile, 32 * 33", "tile, 31 * 33", 1, transpose, "behind the"},
	{"panels without barrier", "gemm.cu", "__syncthreads();", "", 1, product, "no barrier between"},
	{"block sum without barrier", "device.cuh", "__syncthreads();", "", 1, softmax, "no barrier between"},
	{"sum over half a warp", "device.cuh", "v += __shfl_xor_sync(CAPGNN_FULL, v, o)", "v += __shfl_xor_sync(0xffffu, v, o)", 1, softmax,
		"leaves out"},
	{"maximum with lanes that have gone", "loss.cu", "float top = -INFINITY;", "if (lane >= 16) return 0; float top = -INFINITY;", 1,
		softmax, "different"},
	{"lanes that end early", "loss.cu", "double sum = 0;", "double sum = 0; if (threadIdx.x % 32 >= 16) return;", 1, softmax, "exited"},
	{"hub's sums overwritten early", "spmm.cu", "__syncthreads();", "", 2, hubs, "no barrier between"},
	{"hub's sums read early", "spmm.cu", "__syncthreads();", "", 1, hubs, "no barrier between"},
	{"findings overwritten early", "rows.cuh", "__syncthreads();", "", 2, hubs, "no barrier between"},
	{"gradient sums without barrier", "epilogue.cu", "__syncthreads();", "", 1, gradient, "no barrier between"},
	{"scatter beyond the last column", "rows.cu", "j < cols; j += 32) y[j]", "j <= cols; j += 32) y[j]", 1, scatter, "4 bytes"},
	{"vectors where rows are not aligned", "rows.cu", "aligned<4>(src, lds)", "true", 1, unaligned, "not aligned"},
	{"warps' attention read early", "gat.cuh", "__syncthreads();", "", 2, attention, "no barrier between"},
	{"warps' softmax overwritten early", "gat.cu", "__syncthreads();", "", 2, attention, "no barrier between"},
}

// TestMutants demands that the emulator finds each bug, in any order of a block's threads: races are found by who touched what
// between barriers, not by a wrong result.
func TestMutants(t *testing.T) {
	if _, err := exec.LookPath("g++"); err != nil {
		t.Skip("needs g++")
	}
	b := newBreeder(t)
	sound := map[string]string{} // output of each script on the kernel as it is
	for _, m := range mutants {
		t.Run(m.name, func(t *testing.T) {
			family := b.family(m)
			if sound[m.script] == "" {
				sound[m.script] = b.run(t, family, "", m)
			}
			if got := sound[m.script]; got != "ok" {
				t.Fatalf("without the bug: %s", got)
			}
			got := b.run(t, family, m.file, m)
			if !strings.Contains(got, m.want) || !strings.Contains(got, "kernel capgnn_") || !strings.Contains(got, "thread (") {
				t.Errorf("the emulator says %q, want %q with kernel and thread", got, m.want)
			}
		})
	}
}

// breeder compiles kernels with bugs in them.
type breeder struct {
	emulator string   // folder of its sources, a copy
	kernels  string   // folder of the kernels' sources
	objects  []string // emulator and runner
}

const flags = "-std=c++17 -O1 -fPIC -ffp-contract=off -fno-stack-protector"

func newBreeder(t *testing.T) *breeder {
	b := &breeder{emulator: filepath.Join(t.TempDir(), "fakedriver"), kernels: filepath.Join("..", "..", "kernels")}
	// Copied by this process, so that go test knows what its result depends on.
	if err := os.CopyFS(b.emulator, os.DirFS("..")); err != nil {
		t.Fatal(err)
	}
	for _, f := range []string{"emu.cc", "emu_memory.cc", "emu_shared.cc", "fake/testdata/runner.cc"} {
		f = filepath.Join(b.emulator, f)
		compile(t, append(strings.Fields(flags), "-I", b.emulator, "-c", f, "-o", f+".o")...)
		b.objects = append(b.objects, f+".o")
	}
	return b
}

// family is the file of kernels that a mutant's script launches.
func (b *breeder) family(m mutant) string {
	for script, file := range map[string]string{
		columnSums: "reduce.cu", transpose: "rows.cu", scatter: "rows.cu", unaligned: "rows.cu", product: "gemm.cu", softmax: "loss.cu", hubs: "spmm.cu",
		gradient: "epilogue.cu", attention: "gat.cu",
	} {
		if m.script == script {
			return file
		}
	}
	panic("no family for " + m.name)
}

// run compiles the family, with m's bug if changed names a file, and returns what the runner prints.
func (b *breeder) run(t *testing.T, family, changed string, m mutant) string {
	t.Helper()
	folder := filepath.Join(t.TempDir(), "kernels")
	if err := os.CopyFS(folder, os.DirFS(b.kernels)); err != nil {
		t.Fatal(err)
	}
	if changed != "" {
		b.mutate(t, filepath.Join(folder, changed), m)
	}
	if err := os.Symlink(b.emulator, filepath.Join(filepath.Dir(folder), "fakedriver")); err != nil {
		t.Fatal(err)
	}
	program := filepath.Join(folder, "run")
	object := filepath.Join(folder, "kernels.o")
	checks := strings.Fields("-fsanitize=kernel-address --param asan-instrumentation-with-call-threshold=0 --param asan-stack=0 " +
		"--param asan-globals=0 -DCAPGNN_EMU -x c++ -c")
	compile(t, append(append(strings.Fields(flags), checks...), filepath.Join(folder, family), "-o", object)...)
	compile(t, append([]string{"-o", program, object}, b.objects...)...)
	cmd := exec.Command(program)
	cmd.Stdin = strings.NewReader(m.script)
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	return strings.TrimSpace(string(out))
}

// mutate puts the bug into a file.
func (b *breeder) mutate(t *testing.T, file string, m mutant) {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	parts := strings.SplitN(string(text), m.old, m.n+1)
	if len(parts) != m.n+1 {
		t.Fatalf("%s has %q less than %d times: the mutant is out of date", m.file, m.old, m.n)
	}
	changed := strings.Join(parts[:m.n], m.old) + m.new + parts[m.n]
	if err := os.WriteFile(file, []byte(changed), 0o666); err != nil {
		t.Fatal(err)
	}
}

func compile(t *testing.T, args ...string) {
	t.Helper()
	if out, err := exec.Command("g++", args...).CombinedOutput(); err != nil {
		t.Fatalf("g++ %s: %v\n%s", strings.Join(args, " "), err, out)
	}
}
