//go:build cuda

package fake

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"
)

// bug is put into a kernel of the shipped PTX: the n-th occurrence of old in it becomes new, and a run of the script must end with
// want.
type bug struct {
	name, kernel, old, new string
	n                      int
	script, want           string
}

const (
	// What two threads do without a barrier between: which of them comes first depends on the order.
	unordered    = "no barrier between|nobody has written"
	barrier      = "bar.sync \t0;"
	firstShuffle = "shfl.sync.bfly.b32 \t%r48|%p15, %r44, %r46, %r45, %r47;"
	// Lanes 16 to 31 of every warp.
	upperLanes = "setp.gt.u32 %p15, %laneid, 15; "
	// Two blocks share out the rows.
	halves = `buffer m 9600
buffer part 400
launch capgnn_col_sum 1 2 256 0 100 24 @m 24 @part 50
`
	unwritten = `bare m 9600
buffer part 400
launch capgnn_col_sum 1 1 256 0 100 24 @m 24 @part 100
`
	// Row i has 4·i entries: of the first 256 rows, which a block looks at in one go, none is a hub.
	manyHubs = `buffer begin 2400
buffer end 2400
longs end 0 4
buffer indices 4800
buffer x 128
buffer y 38400
launch capgnn_spmm_f32 1 1 256 0 @y 32 @x 32 32 32 0 @begin @end @indices 0 300 0 300 1 0 0 0 0.0 0 0 0 0 0 0 0.0 0 0 0.0 0 0
`
	ragged = `buffer m 360
launch capgnn_fill 1 1 256 0 10 9 @m 9 1.0
`
)

var bugs = []bug{
	{"no barrier before sums are added", "col_sum", barrier, "", 1, columnSums, unordered},
	{"a row too many", "col_sum", "min.s64 \t%rd7, %rd34, %rd31;", "add.s64 %rd7, %rd31, 1;", 1, columnSums, "read of 4 bytes at"},
	{"a load elsewhere", "col_sum", "[%rd62];", "[%rd62+65536];", 1, columnSums, "read of 4 bytes at"},
	{"a barrier that some lanes miss", "col_sum", barrier, "@%p1 " + barrier, 1, columnSums, "bar.sync that only lanes ff000000"},
	{"a barrier that a warp misses", "col_sum", barrier, "setp.ne.s32 %p8, %r2, 0; @!%p8 ret; " + barrier, 1, columnSums, "224 threads wait in bar.sync, 32 have ended"},
	{"warps at two barriers", "col_sum", barrier, "setp.ne.s32 %p8, %r2, 0; @%p8 bra $L_a; " + barrier + " bra $L_b;\n$L_a:\n" + barrier + "\n$L_b:\n", 1,
		columnSums, "another bar.sync"},
	{"a sum that does not start", "col_sum", "mov.f32 \t%f40, 0f00000000;", "", 1, columnSums, "register that was never written"},
	{"a check that is not made", "col_sum", "setp.ge.s64 \t%p1, %rd4, %rd8;", "", 1, columnSums, "guard that was never written"},
	{"sums that are not stored", "col_sum", "st.shared.f32 \t[%r8], %f40;", "", 1, columnSums, "read of shared memory .* nobody has written"},
	{"all warps store the sum", "col_sum", "setp.ne.s32 \t%p8, %r2, 0;", "setp.ne.s32 %p8, %r2, %r2;", 1, columnSums,
		"write of global memory .* of its block has written"},
	{"blocks store one part", "col_sum", "mov.u32 \t%r5, %ctaid.y;", "mov.u32 %r5, 0;", 1, halves, "write of global memory .* of another block has written"},
	{"memory that nobody has written", "col_sum", "", "", 1, unwritten, "read of global memory .* nobody has written"},
	{"a tile that is read before it is written", "transpose", barrier, "", 1, transpose, unordered},
	{"a tile that is overwritten before it is read", "transpose", barrier, "", 2, transpose, "no barrier between"},
	{"a tile that is a row too short", "transpose", "tile[4224]", "tile[4092]", 1, transpose, "behind the"},
	{"division by zero", "transpose", "div.u32 \t%r29, %r28, %r27;", "div.u32 %r29, %r28, 0;", 1, transpose, "division by zero"},
	{"whole loads of rows that are not aligned", "fill", "and.b64  \t%rd2, %rd100, 15;", "mov.u64 %rd2, 0;", 1, ragged, "not aligned"},
	{"a product without barrier", "gemm_nn64", barrier, "", 1, product, unordered},
	{"a block's sum without barrier", "softmax_loss", barrier, "", 1, softmax, unordered},
	{"half a mask", "softmax_loss", firstShuffle, strings.Replace(firstShuffle, "%r47", "65535", 1), 1, softmax, "0000ffff leaves out"},
	{"two masks", "softmax_loss", firstShuffle, upperLanes + "selp.b32 %r48, -65536, -1, %p15; " + strings.Replace(firstShuffle, "%r47", "%r48", 1), 1,
		softmax, "different masks|leaves out"},
	{"lanes that end early", "softmax_loss", firstShuffle, upperLanes + "@%p15 ret; " + firstShuffle, 1, softmax, "names lanes that have exited"},
	{"lanes at two collectives", "softmax_loss", firstShuffle, upperLanes + "@%p15 bra $L_a; bar.warp.sync -1;\n$L_a:\n" + firstShuffle, 1, softmax,
		"different collective"},
	{"findings that are overwritten early", "spmm_f32", barrier, "", 1, manyHubs, "no barrier between"},
	{"findings that are read early", "spmm_f32", barrier, "", 2, hubs, unordered},
	{"sums of hubs that are read early", "spmm_f32", barrier, "", 3, hubs, unordered},
	{"sums of hubs that are overwritten early", "spmm_f32", barrier, "", 4, hubs, "no barrier between"},
	{"gradients without barrier", "epilogue_backward", barrier, "", 1, gradient, unordered},
	{"an instruction that no GPU has", "fill", "and.b64  \t%rd2, %rd100, 15;", "nand.b64 %rd2, %rd100, 15;", 1, ragged, `PTX line \d+: unknown instruction`},
}

// TestBugs demands that each bug is found, whatever order the threads ran in, in PTX that has none.
func TestBugs(t *testing.T) {
	r := newRunner(t)
	for _, b := range bugs {
		t.Run(b.name, func(t *testing.T) {
			text, kernel := r.family(t, b.kernel)
			if b.old != "" {
				if got := r.run(t, text, "forward", b.script); !strings.HasPrefix(got, "ok ") {
					t.Fatalf("without the bug: %s", got)
				}
				parts := strings.SplitN(kernel, b.old, b.n+1)
				if len(parts) != b.n+1 {
					t.Fatalf("%s has %q less than %d times: the bug is out of date", b.kernel, b.old, b.n)
				}
				text = strings.Replace(text, kernel, strings.Join(parts[:b.n], b.old)+b.new+parts[b.n], 1)
			}
			orders := []string{"forward", "reverse", "random:1"}
			if strings.Contains(b.want, "only lanes") {
				orders = orders[:2] // threads that are independent come to a barrier one by one
			}
			for _, order := range orders {
				got := r.run(t, text, order, b.script)
				if !regexp.MustCompile(b.want).MatchString(got) {
					t.Errorf("%s: %q, want %q", order, got, b.want)
				}
				if !strings.HasPrefix(b.want, "PTX") && !regexp.MustCompile(`kernel capgnn_.*, block \(.*\), thread \(.*\), lane \d+: .* \[PTX line \d+: `).MatchString(got) {
					t.Errorf("%s: %q does not say where", order, got)
				}
			}
		})
	}
}

// A small module for what the shipped kernels have no place for: %s is the body of a kernel with one parameter, a buffer.
const small = `.version 7.8
.target sm_60
.address_size 64
.visible .entry capgnn_small(
	.param .u64 capgnn_small_param_0
)
{
	.reg .pred %p<4>;
	.reg .f32 %f<8>;
	.reg .b32 %r<8>;
	.reg .b64 %rd<8>;
	ld.param.u64 %rd1, [capgnn_small_param_0];
	cvta.to.global.u64 %rd2, %rd1;
	mov.u32 %r1, %tid.x;
	mul.wide.u32 %rd3, %r1, 4;
	add.s64 %rd4, %rd2, %rd3;
	BODY
	ret;
}
`

// TestSmall holds findings to bodies, right ones and wrong ones. The first 8 bytes of the 256 are written.
func TestSmall(t *testing.T) {
	r := newRunner(t)
	const vector = "ld.global.v4.f32 {%f1, %f2, %f3, %f4}, [%rd2]; "
	for _, c := range []struct{ name, body, want string }{
		{"a vector whose end nobody uses", vector + "add.f32 %f5, %f1, %f2; add.f32 %f6, %f3, %f4; st.global.f32 [%rd4+64], %f5;", "ok"},
		{"its end is stored", vector + "add.f32 %f5, %f1, %f3; st.global.f32 [%rd4+64], %f5;", "result made of memory that nobody has written"},
		{"its end is a guard", vector + "setp.gt.f32 %p1, %f3, 0f00000000; @%p1 st.global.f32 [%rd4+64], %f1;", "guard made of memory"},
		{"its end is shuffled", vector + "mov.b32 %r2, %f3; mov.b32 %r3, 0; mov.b32 %r4, 31; shfl.sync.idx.b32 %r5, %r2, %r3, %r4, -1; st.global.u32 [%rd4+64], %r5;",
			"result made of memory"},
		{"its end is not selected", vector + "setp.lt.u32 %p1, %r1, 64; selp.f32 %f5, %f2, %f3, %p1; st.global.f32 [%rd4+64], %f5;", "ok"},
		{"its end is selected", vector + "setp.lt.u32 %p1, %r1, 8; selp.f32 %f5, %f2, %f3, %p1; st.global.f32 [%rd4+64], %f5;", "thread (8,"},
		{"a scalar behind it", "ld.global.f32 %f1, [%rd2+8];", "global memory at 0x"},
		{"neighbours of one warp", "ld.global.f32 %f1, [%rd2]; st.global.f32 [%rd4], %f1;", "write of global memory at 0x"},
		{"neighbours with a barrier between", "ld.global.f32 %f1, [%rd2]; bar.warp.sync -1; st.global.f32 [%rd4], %f1;", "ok"},
		{"a barrier of half a warp", "ld.global.f32 %f1, [%rd2]; setp.lt.u32 %p1, %r1, 16; @%p1 bra $L_a; bar.warp.sync -65536; bra $L_b;\n$L_a:\nbar.warp.sync 65535;\n$L_b:\nst.global.f32 [%rd4], %f1;",
			"write of global memory at 0x"},
		{"halves of a word", "shl.b64 %rd5, %rd3, 0; shr.u64 %rd5, %rd3, 1; add.s64 %rd6, %rd2, %rd5; .reg .b16 %rs1; mov.u16 %rs1, 1; st.global.u16 [%rd6], %rs1;", "ok"},
		{"behind the block", "st.global.f32 [%rd4+132], 0f00000000;", "4 bytes at 0x"},
		{"shared memory that there is not", "mov.u32 %r2, 0; st.shared.u32 [%r2+64], %r1;", "behind the 0 that the block has"},
		{"a register of another width", "add.s32 %r2, %r1, %rd1;", "register %rd1 has not 4 bytes"},
		{"a register that is not declared", "mov.u32 %r2, %r9;", "no register %r9"},
	} {
		t.Run(c.name, func(t *testing.T) {
			script := "bare b 256\nwrite b 8\nlaunch capgnn_small 1 1 32 0 @b\n"
			for _, order := range []string{"forward", "random:2"} {
				if got := r.run(t, strings.Replace(small, "BODY", c.body, 1), order, script); !strings.Contains(got, c.want) {
					t.Errorf("%s: %q, want %q", order, got, c.want)
				}
			}
		})
	}
}

// runner runs PTX by scripts.
type runner struct {
	program, folder string
	limit           time.Duration // of a run
	profiled        bool          // what runs counts in FAKECUDA_PROFILE; no kernel has a bug then
}

func newRunner(t *testing.T) *runner {
	libs, err := Build()
	if errors.Is(err, ErrNoCompiler) || Real() {
		t.Skip("needs the fake driver: ", err)
	}
	if err != nil {
		t.Fatal(err)
	}
	r := &runner{folder: t.TempDir(), limit: time.Minute}
	r.program = filepath.Join(r.folder, "ptx")
	out, err := exec.Command("g++", "-std=c++17", "-O1", "-I..", "testdata/ptx.cc", libs.Driver, "-Wl,-rpath,"+filepath.Dir(libs.Driver), "-o", r.program).CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	return r
}

// family returns the PTX in which a kernel is, and the kernel's part of it.
func (r *runner) family(t *testing.T, kernel string) (text, part string) {
	t.Helper()
	files, err := filepath.Glob("../../kernels/*.ptx")
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range files {
		data, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		_, rest, found := strings.Cut(string(data), ".entry capgnn_"+kernel+"(")
		if !found {
			continue
		}
		part, _, _ = strings.Cut(rest, ".entry ")
		return string(data), part
	}
	t.Fatalf("no kernel %s", kernel)
	return "", ""
}

// run returns what the program prints about a script on PTX.
func (r *runner) run(t *testing.T, text, order, script string) string {
	t.Helper()
	file := filepath.Join(r.folder, "kernels.ptx")
	if err := os.WriteFile(file, []byte(text), 0o666); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), r.limit)
	defer cancel()
	cmd := exec.CommandContext(ctx, r.program, file, order)
	cmd.Env = slices.DeleteFunc(os.Environ(), func(v string) bool { return !r.profiled && strings.HasPrefix(v, "FAKECUDA_PROFILE=") })
	cmd.Stdin = strings.NewReader(script)
	out, err := cmd.CombinedOutput()
	if ctx.Err() != nil {
		return "it does not end"
	}
	if err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	return strings.TrimSpace(string(out))
}
