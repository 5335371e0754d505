//go:build cuda

package cuda

import (
	"strings"
	"testing"

	"capgnn/gpu"
	"capgnn/gpu/cuda/fakedriver/fake"
	"capgnn/gpu/gputest"
)

// multiplied loads the driver once more, with a cuBLAS, and returns its path.
func multiplied(t *testing.T) (*Driver, string) {
	t.Helper()
	libs, err := fake.Build()
	if err != nil {
		t.Fatal(err)
	}
	d := load(t, Options{Library: libs.Driver, NVML: libs.NVML, BLAS: libs.BLAS})
	if _, _, err := d.BLAS(); err != nil && fake.Real() {
		t.Skip("no cuBLAS on this machine: ", err)
	} else if err != nil {
		t.Fatal(err)
	}
	return d, libs.BLAS
}

// TestConformanceBLAS is the conformance of what cuBLAS takes over: of FP32 alone on old GPUs, of BF16 too on new ones, whose rows are
// rounded all at once or some at a time.
func TestConformanceBLAS(t *testing.T) {
	d, _ := multiplied(t)
	for _, c := range []struct {
		name, capability string
		chunk            gpu.Bytes
	}{{"sm_70", "70", halfChunk}, {"sm_80", "80", halfChunk}, {"chunks", "90", 1}} {
		t.Run(c.name, func(t *testing.T) {
			open := twoGPUs(t, d, "forward;cc="+c.capability)
			gputest.RunProducts(t, func(t *testing.T) gpu.Device {
				dev := open(t)
				dev.chunkBytes = c.chunk
				return dev
			})
		})
		if fake.Real() && c.name == "sm_80" {
			return // the GPU is what it is
		}
	}
}

// Of two types cuBLAS multiplies what was rounded, from rows that begin where tensor cores want them; GPUs that do not multiply BF16 get
// no such product.
func TestHalfProducts(t *testing.T) {
	onlyFake(t, "the fake cuBLAS counts")
	d, library := multiplied(t)
	const rows, cols, k = 300, 47, 41
	for _, c := range []struct {
		capability string
		want       int
	}{{"80", 6}, {"75", 0}} {
		configure(t, "mem=256;cc="+c.capability)
		dev, err := d.Open(Spec{})
		if err != nil {
			t.Fatal(err)
		}
		matrix := func(rows, cols, ld int, typ gpu.DType) gpu.Matrix {
			return gpu.Matrix{Buf: alloc(t, dev, rows*ld*typ.Size(), "operand"), Rows: rows, Cols: cols, LD: ld, Type: typ}
		}
		q := dev.NewQueue("products")
		full, narrow := matrix(rows, k, k, gpu.FP32), matrix(rows, k, 48, gpu.BF16)
		w, back := matrix(cols, k, k, gpu.FP32), matrix(cols, k, 44, gpu.FP32)
		z, z16 := matrix(rows, cols, 48, gpu.FP32), matrix(rows, cols, 48, gpu.BF16)
		for _, m := range []gpu.Matrix{full, w, back, z} {
			q.Fill(m, 0.5)
		}
		q.Copy(narrow, full)
		q.Copy(z16, z)
		products, unaligned := fake.Products(library, "bf16"), fake.Products(library, "unaligned")
		q.Linear(gpu.LinearArgs{Z: z, X: narrow, W: w})
		q.Linear(gpu.LinearArgs{Z: z16, X: full, W: w})
		q.Gemm(gpu.GemmArgs{C: back, A: z16, B: narrow, TransA: true, Beta: 1})
		q.Gemm(gpu.GemmArgs{C: back, A: z16, B: full, TransA: true})
		q.Gemm(gpu.GemmArgs{C: back, A: z, B: full, TransA: true, Beta: 1}) // of FP32
		q.Gemm(gpu.GemmArgs{C: back, A: z, B: full, TransA: true, Beta: 1, Half: true})
		q.Linear(gpu.LinearArgs{Z: z, X: full, W: w, Half: true})
		if err := q.Sync(); err != nil {
			t.Fatal(err)
		}
		if got := fake.Products(library, "bf16") - products; got != c.want || dev.Info().HalfProducts != (got > 0) {
			t.Errorf("sm_%s: %d products of BF16, want %d; the device says %v", c.capability, got, c.want, dev.Info().HalfProducts)
		}
		if got := fake.Products(library, "unaligned") - unaligned; got != 0 {
			t.Errorf("sm_%s: %d products of rows that do not begin at multiples of 16 bytes", c.capability, got)
		}
		if err := dev.Close(); err != nil {
			t.Fatal(err)
		}
	}
}

// What cuBLAS cannot do follows its product. Of BF16 on new GPUs it does all: the FP32 operands of a pair are rounded first, and what is
// rounded at the end is made in FP32.
func TestProductsOfBLAS(t *testing.T) {
	onlyFake(t, "the fake cuBLAS")
	driver, _ := multiplied(t)
	for capability, cases := range map[string][]productCase{"70": productCases[:8], "80": productCases} {
		configure(t, "mem=16;cc="+capability)
		opened, err := driver.Open(Spec{TF32: true})
		if err != nil {
			t.Fatal(err)
		}
		d := opened.(*device)
		m := gpu.Matrix{Buf: alloc(t, d, 4096, "m"), Rows: 8, Cols: 8, LD: 8}
		half, vec := m, gpu.Vec{Buf: m.Buf, Len: 8}
		half.Type = gpu.BF16
		for _, c := range cases {
			p := product{c: m, a: m, b: m, transB: true, m: 8, n: 8, k: 8}
			for _, word := range strings.Fields(c.product) {
				switch word {
				case "a16":
					p.a = half
				case "c16":
					p.c = half
				case "beta":
					p.beta = 1
				case "bias":
					p.bias = vec
				case "scale":
					p.rowScale = vec
				case "pair":
					p.a2, p.b2 = m, m
				case "pair16":
					p.a2, p.b2 = half, m
				case "nothing":
					p.k, p.a.Cols, p.b.Cols = 0, 0, 0
				case "sums":
					p.transA, p.transB = true, false
				}
			}
			q := d.NewQueue(c.product).(*queue)
			q.begin("Linear", gpu.PhaseMM)
			q.multiply(p)
			if got := launches(q); got != c.want {
				t.Errorf("sm_%s, %q: %s, want %s", capability, c.product, got, c.want)
			}
		}
		if err := d.Close(); err != nil {
			t.Fatal(err)
		}
	}
}

// The bias of a product by cuBLAS is added by the epilogue that follows; a kernel of ours adds it itself.
func TestBiasInEpilogue(t *testing.T) {
	onlyFake(t, "the fake cuBLAS")
	multiplied, _ := multiplied(t)
	configure(t, "mem=16")
	for want, driver := range map[string]*Driver{"cublasSgemm epilogue": multiplied, "nt64 epilogue": driver} {
		dev, err := driver.Open(Spec{})
		if err != nil {
			t.Fatal(err)
		}
		m := func() gpu.Matrix { return gpu.Matrix{Buf: alloc(t, dev, 256, "m"), Rows: 8, Cols: 8, LD: 8} }
		q := dev.NewQueue("q").(*queue)
		vec := gpu.Vec{Buf: m().Buf, Len: 8}
		q.Linear(gpu.LinearArgs{Z: m(), X: m(), W: m(), Bias: vec, Then: &gpu.Epilogue{H: m(), Norm: true, Gamma: vec, Beta: vec}})
		if got := launches(q); got != want {
			t.Errorf("%s, want %s", got, want)
		}
		if err := dev.Close(); err != nil {
			t.Fatal(err)
		}
	}
}

// productCase is what a product of 8×8 matrices has, and what is launched for it.
type productCase struct{ product, want string }

var productCases = []productCase{
	{"", "cublasSgemm"},
	{"beta", "cublasSgemm"},
	{"bias", "cublasSgemm scale_bias"},
	{"scale bias", "cublasSgemm scale_bias"},
	{"scale beta", "cublasSgemm scale_bias axpby"},
	{"pair bias", "cublasSgemm cublasSgemm scale_bias"},
	{"pair scale", "cublasSgemm scale_bias cublasSgemm"},
	{"nothing pair scale", "cublasSgemm"},
	// of sm_80 and later
	{"a16", "move_fb cublasGemmEx"},
	{"a16 beta bias", "move_fb cublasGemmEx scale_bias"},
	{"c16", "move_fb move_fb cublasGemmEx"},
	{"c16 bias", "move_fb move_fb cublasGemmEx scale_bias move_fb"},
	{"pair16", "move_fb cublasSgemm cublasGemmEx"},
	{"a16 pair", "move_fb cublasGemmEx cublasSgemm"},
	{"a16 c16 pair16", "move_fb move_fb cublasGemmEx cublasGemmEx move_fb"},
	{"a16 sums", "move_fb cublasGemmEx"},
	{"nothing pair16 c16", "move_fb cublasGemmEx"},
	{"nothing beta", "nt64"},
}
