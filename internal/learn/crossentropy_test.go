package learn

import (
	"encoding/binary"
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"runtime"
	"strings"
	"testing"

	"capgnn/gpu"
	"capgnn/gpu/host"
	"capgnn/hostmem"
)

// reference is a loss of PyTorch with its gradient.
type reference struct {
	Classes   int
	Logits    []float64
	Labels    []int32
	Weights   []float64
	Smoothing float64
	Loss      float64
	Grad      []float64
}

func references(t *testing.T) []reference {
	t.Helper()
	data, err := os.ReadFile("../../testdata/training.json")
	if err != nil {
		t.Fatal(err)
	}
	var all struct{ Losses []reference }
	if err := json.Unmarshal(data, &all); err != nil || len(all.Losses) < 4 {
		t.Fatalf("%d losses, %v", len(all.Losses), err)
	}
	return all.Losses
}

func (r *reference) labels() Labels { return Labels{Weights: r.Weights, Smoothing: r.Smoothing} }

// total is what the labels weigh.
func (r *reference) total() float64 {
	c, count := r.labels(), make([]int, r.Classes)
	for _, y := range r.Labels {
		count[y]++
	}
	return c.Total(count)
}

func narrow(x []float64) []float32 {
	out := make([]float32, len(x))
	for i, v := range x {
		out[i] = float32(v)
	}
	return out
}

// computed is what a device makes of logits: the gradient, and the loss.
func computed(t *testing.T, c Labels, classes int, logits []float32, labels []int32, scale float64, into gpu.DType) ([]float32, float64) {
	t.Helper()
	d, err := host.Open(host.Spec{Name: "cpu:0", Threads: 2, Poison: true})
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	q := d.NewQueue("compute")
	var bufs []gpu.Buffer
	alloc := func(size gpu.Bytes, name string) gpu.Buffer {
		b, err := d.Alloc(max(size, 1), name)
		if err != nil {
			t.Fatal(err)
		}
		bufs = append(bufs, b)
		return b
	}
	n := len(labels)
	w := c.on(alloc, q, func() gpu.Queue { return d.NewQueue("loss") }, classes, n+3)
	z := gpu.Matrix{Buf: alloc(4*gpu.Bytes(n*classes), "logits"), Rows: n, Cols: classes, LD: classes}
	grad := z
	if into != gpu.FP32 {
		grad = gpu.Matrix{Buf: alloc(4*gpu.Bytes(n*classes), "gradient"), Rows: n, Cols: classes, LD: classes, Type: into}
	}
	ints := func(list []int32) gpu.Ints {
		v := gpu.Ints{Buf: alloc(4*gpu.Bytes(n), "labels"), Len: n}
		q.Upload(v.Buf, 0, hostmem.Bytes(list))
		return v
	}
	q.Upload(z.Buf, 0, hostmem.Bytes(logits))
	kinds, lost := make([]int32, n), make([]byte, 8)
	for i, y := range labels {
		if kinds[i] = y; y < 0 {
			kinds[i] = int32(classes)
		}
	}
	w.Loss(q, gpu.LossArgs{Logits: z, Grad: grad, Labels: ints(labels), Scale: scale, Loss: gpu.Array[float64]{Buf: alloc(8, "loss"), Len: 1}}, ints(kinds), lost)
	w.Await(q)
	wide := gpu.Matrix{Buf: alloc(4*gpu.Bytes(n*classes), "wide"), Rows: n, Cols: classes, LD: classes}
	q.Copy(wide, grad)
	got := make([]float32, n*classes)
	q.Download(hostmem.Bytes(got), wide.Buf, 0)
	if err := q.Sync(); err != nil {
		t.Fatal(err)
	}
	for _, b := range bufs {
		b.Free()
	}
	return got, math.Float64frombits(binary.NativeEndian.Uint64(lost))
}

// Losses and gradients are those of PyTorch, to the rounding of float32.
func TestLossesOfPyTorch(t *testing.T) {
	for i, r := range references(t) {
		scale := 1 / r.total()
		got, loss := computed(t, r.labels(), r.Classes, narrow(r.Logits), r.Labels, scale, gpu.FP32)
		if math.Abs(loss-r.Loss) > 1e-6*r.Loss {
			t.Errorf("case %d: loss %.9g, want %.9g", i, loss, r.Loss)
		}
		most := 0.0
		for _, g := range r.Grad {
			most = max(most, math.Abs(g))
		}
		for k, g := range r.Grad {
			if math.Abs(float64(got[k])-g) > 2e-6*most {
				t.Errorf("case %d: gradient %d is %g, want %g", i, k, got[k], g)
			}
		}
	}
}

// The gradient is the derivative of the loss, by central differences in float64, and rows without a label have none.
func TestGradientsAreDerivatives(t *testing.T) {
	r := rand.New(rand.NewPCG(26, 4))
	for _, c := range []Labels{{Smoothing: 0.3}, {Weights: []float64{2, 0, 0.5, 1, 4}}, {Weights: []float64{0.1, 3, 0, 1, 2}, Smoothing: 0.7}} {
		const n, classes = 30, 5
		logits, labels := make([]float32, n*classes), make([]int32, n)
		for i := range logits {
			logits[i] = float32(4 * r.NormFloat64())
		}
		for i := range labels {
			labels[i] = int32(r.IntN(classes+1)) - 1
		}
		for _, into := range []gpu.DType{gpu.FP32, gpu.BF16} {
			got, _ := computed(t, c, classes, logits, labels, 0.125, into)
			bound := map[gpu.DType]float64{gpu.FP32: 4e-6, gpu.BF16: 0.01}[into]
			for k := range logits {
				i := k / classes
				at := append([]float32(nil), logits[i*classes:][:classes]...)
				loss := func(by float32) (sum, moved float64) {
					at[k%classes] = logits[k] + by
					return 0.125 * c.sum(at, classes, labels[i:i+1]), float64(at[k%classes])
				}
				const h = 1.0 / 256
				hi, x := loss(h)
				lo, y := loss(-h)
				want := (hi - lo) / (x - y)
				if d := math.Abs(float64(got[k]) - want); d > bound*max(1, math.Abs(want)) {
					t.Errorf("%+v: gradient %d is %g, differences give %g", c, k, got[k], want)
				}
				if labels[i] < 0 && got[k] != 0 {
					t.Errorf("gradient %g of a row without a label", got[k])
				}
			}
		}
	}
}

// Sums have the same bits for any number of threads, and are those of their rows.
func TestSumsOfAnyThreads(t *testing.T) {
	r := rand.New(rand.NewPCG(26, 5))
	const n, classes = 5000, 3
	logits, labels := make([]float32, n*classes), make([]int32, n)
	for i := range logits {
		logits[i] = float32(r.NormFloat64())
	}
	for i := range labels {
		labels[i] = int32(i%4) - 1
	}
	c := Labels{Weights: []float64{1, 2, 3}, Smoothing: 0.1}
	want, rows := c.sum(logits, classes, labels), 0.0
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	if got := c.sum(logits, classes, labels); got != want {
		t.Errorf("%v on one thread, %v", got, want)
	}
	for i := range labels {
		rows += c.sum(logits[i*classes:][:classes], classes, labels[i:i+1])
	}
	if math.Abs(rows-want) > 1e-9*want {
		t.Errorf("rows give %v, want %v", rows, want)
	}
	if got := c.sum(logits, classes, append([]int32{9}, labels[1:]...)); !math.IsInf(got, 1) {
		t.Errorf("a label beyond the classes gives %v", got)
	}
}

// A criterion that does not fit the data says why.
func TestCheck(t *testing.T) {
	for says, c := range map[string]Labels{
		"3 class weights for 2 classes": {Weights: []float64{1, 2, 3}}, "class 1: weight -1": {Weights: []float64{1, -1}}, "class 0: weight NaN": {Weights: []float64{math.NaN(), 1}},
		"class 0: weight +Inf": {Weights: []float64{math.Inf(1), 1}}, "label smoothing 1": {Smoothing: 1}, "label smoothing NaN": {Smoothing: math.NaN()}, "label smoothing -0.1": {Smoothing: -0.1},
	} {
		if err := c.check(2, false); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%+v: %v, want %s", c, err, says)
		}
	}
	smooth, plain := Labels{Smoothing: 0.5}, Labels{}
	if err := fmt.Sprint(smooth.check(2, false), plain.check(2, true), smooth.check(2, true) == nil); err != "<nil> <nil> false" {
		t.Error(err)
	}
}
