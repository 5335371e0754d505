package rapa

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"testing"

	"capgnn/graph"
	"capgnn/graph/synth"
)

// samplePlan has something in every field.
func samplePlan(t testing.TB) *Plan {
	g := must(t)(synth.Random(30, 60, true, 1))
	p, err := Partition(t.Context(), g, nil, Options{Parts: 3, Targets: []float64{0.5, 0.3, 0.2}, Seed: 4}, nil)
	if err != nil {
		t.Fatal(err)
	}
	p.Devices, p.DeviceOf, p.Costs = []string{"cpu:0", "sim:rtx3090", "sim:a40", "sim:gtx1650"}, []int{2, 0, 1}, unequal(t, 3)
	moved, err := Rebalance(t.Context(), NewDirections(g), p.Part, p.Costs, RebalanceOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if err := p.Repartition(g, nil, moved); err != nil {
		t.Fatal(err)
	}
	a, err := Adjust(t.Context(), NewDirections(g), p.Part, p.Costs, AdjustOptions{MaxPrune: 0.6})
	if err != nil {
		t.Fatal(err)
	}
	p.Score, p.Dropped, p.Trace, p.Stop, p.Lost = ByInfluence, a.Dropped, append(moved.Trace, a.Trace...), a.Stop, a.Lost
	if p.Moved == 0 || p.Dropped == nil {
		t.Fatalf("%d moved, dropped %v: the sample shows too little", p.Moved, p.Dropped)
	}
	return p
}

// TestLosslessPlanFile: a plan that was made for no devices comes back with nil lists.
func TestLosslessPlanFile(t *testing.T) {
	g := must(t)(synth.Random(30, 60, true, 1))
	p, err := Partition(t.Context(), g, nil, Options{Parts: 3}, nil)
	if err != nil {
		t.Fatal(err)
	}
	p.Seconds = 0
	q, err := decodePlan(bytes.NewReader(encoded(t, p)), "x.plan")
	if err != nil || !reflect.DeepEqual(p, q) {
		t.Errorf("read %+v (%v), wrote %+v", q, err, p)
	}
}

// TestOldPlanFile: version 1 is refused with what to do.
func TestOldPlanFile(t *testing.T) {
	b := encoded(t, samplePlan(t))
	b[8] = 1
	var fault *FormatError
	if _, err := decodePlan(bytes.NewReader(b), "x.plan"); !errors.As(err, &fault) || fault.Offset != 8 ||
		err.Error() != "plan file x.plan: byte 8: version 1, this program reads version 2; partition again" {
		t.Errorf("error is %v", err)
	}
}

// TestUnsoundPlans: what a header may say and must not, one thing at a time.
func TestUnsoundPlans(t *testing.T) {
	for name, spoil := range map[string]func(*Plan){
		"device":          func(p *Plan) { p.DeviceOf[1] = 4 },
		"device below 0":  func(p *Plan) { p.DeviceOf[1] = -1 },
		"devices":         func(p *Plan) { p.DeviceOf = p.DeviceOf[:2] },
		"costs":           func(p *Plan) { p.Costs = p.Costs[:2] },
		"negative cost":   func(p *Plan) { p.Costs[0].PerHalo = -1 },
		"moved":           func(p *Plan) { p.Moved = 31 },
		"stop":            func(p *Plan) { p.Stop = "tired" },
		"no stop":         func(p *Plan) { p.Stop = "" },
		"trace":           func(p *Plan) { p.Trace[0].Parts = p.Trace[0].Parts[:2] },
		"counts":          func(p *Plan) { p.Trace[0].Parts[0].Outer = p.Trace[0].Parts[0].Edges + 1 },
		"score":           func(p *Plan) { p.Score = "beauty" },
		"share":           func(p *Plan) { p.Lost.Share = 2 },
		"lost":            func(p *Plan) { p.Lost.Edges++ },
		"lost of a part":  func(p *Plan) { p.Lost.PerPart[0]-- },
		"replicas":        func(p *Plan) { p.Lost.Replicas[2]++ },
		"losses":          func(p *Plan) { p.Lost.Replicas = nil },
		"lossless":        func(p *Plan) { p.Dropped = nil },
		"parts dropped":   func(p *Plan) { p.Dropped = p.Dropped[:2] },
		"descending":      func(p *Plan) { p.Dropped[largest(p)][0] = 29 },
		"beyond the last": func(p *Plan) { d := p.Dropped[largest(p)]; d[len(d)-1] = 30 },
		"own vertex": func(p *Plan) {
			i := largest(p)
			for v, q := range p.Part {
				if int(q) == i {
					d := append(p.Dropped[i][1:], graph.NodeID(v))
					slices.Sort(d)
					p.Dropped[i] = d
					return
				}
			}
		},
	} {
		p := samplePlan(t)
		spoil(p)
		var fault *FormatError
		if q, err := decodePlan(bytes.NewReader(encoded(t, p)), "x.plan"); q != nil || !errors.As(err, &fault) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// largest returns the part that drops most.
func largest(p *Plan) int {
	best := 0
	for i, l := range p.Dropped {
		if len(l) > len(p.Dropped[best]) {
			best = i
		}
	}
	return best
}

// TestRepartition: counting the partition that a plan has gives what the partitioner said.
func TestRepartition(t *testing.T) {
	for _, directed := range []bool{false, true} {
		g := must(t)(synth.Random(200, 700, directed, 1))
		train := make([]bool, 200)
		for v := range train {
			train[v] = v%4 == 0
		}
		p, err := Partition(t.Context(), g, train, Options{Parts: 3, Targets: []float64{0.5, 0.3, 0.2}}, nil)
		if err != nil {
			t.Fatal(err)
		}
		q := *p
		if err := q.Repartition(g, train, &Rebalanced{Part: p.Part}); err != nil {
			t.Fatal(err)
		}
		for i, pair := range [][2]float64{{q.Balance.Vertices, p.Balance.Vertices}, {q.Balance.Edges, p.Balance.Edges}, {q.Balance.Train, p.Balance.Train}} {
			if !near(pair[0], pair[1]) {
				t.Errorf("directed %v: balance %d is %g, want %g", directed, i, pair[0], pair[1])
			}
		}
		q.Balance = p.Balance
		if !reflect.DeepEqual(&q, p) {
			t.Errorf("directed %v: %+v, want %+v", directed, q, p)
		}
		if err := q.Repartition(g, train, &Rebalanced{Part: p.Part[1:]}); err == nil {
			t.Error("a partition that is too short: accepted")
		}
	}
}

func encoded(t testing.TB, p *Plan) []byte {
	var b bytes.Buffer
	if err := encodePlan(&b, p); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func TestPlanFileRoundTrip(t *testing.T) {
	p := samplePlan(t)
	path := filepath.Join(t.TempDir(), "plan")
	for range 2 { // the second one replaces the first
		if err := WritePlan(path, p); err != nil {
			t.Fatal(err)
		}
	}
	q, err := ReadPlan(path)
	if err != nil {
		t.Fatal(err)
	}
	p.Seconds = 0
	if !reflect.DeepEqual(p, q) {
		t.Errorf("read %+v, wrote %+v", q, p)
	}
	if left, _ := filepath.Glob(path + ".tmp*"); len(left) > 0 {
		t.Errorf("left behind: %v", left)
	}
	if _, err := ReadPlan(path + "x"); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("missing file: %v", err)
	}
	if err := WritePlan(filepath.Join(path, "x"), p); err == nil {
		t.Error("wrote below a file")
	}
}

// TestPlanFileDamage truncates a plan at every length and flips every byte: all must be refused with the file's name.
func TestPlanFileDamage(t *testing.T) {
	b := encoded(t, samplePlan(t))
	refused := func(what string, at int, b []byte) {
		p, err := decodePlan(bytes.NewReader(b), "x.plan")
		var fault *FormatError
		if p != nil || !errors.As(err, &fault) || fault.File != "x.plan" {
			t.Errorf("%s at %d: plan %v, error %v", what, at, p != nil, err)
		}
	}
	for i := range b {
		refused("cut", i, b[:i])
		c := bytes.Clone(b)
		c[i] ^= 0x10
		refused("flip", i, c)
	}
	refused("longer", len(b), append(bytes.Clone(b), 0))
}

// TestKeyCoversInputs changes one thing at a time.
func TestKeyCoversInputs(t *testing.T) {
	g := must(t)(synth.Random(30, 60, true, 1))
	h := must(t)(synth.Random(30, 60, true, 2))
	train := make([]bool, 30)
	other := make([]bool, 30)
	other[7] = true
	base := Options{Parts: 2}
	keys := map[string]string{}
	for name, key := range map[string]string{
		"base":     Key(g, train, base),
		"graph":    Key(h, train, base),
		"train":    Key(g, other, base),
		"no train": Key(g, nil, base),
		"parts":    Key(g, train, Options{Parts: 3}),
		"seed":     Key(g, train, Options{Parts: 2, Seed: 1}),
		"method":   Key(g, train, Options{Parts: 2, Method: Random}),
		"targets":  Key(g, train, Options{Parts: 2, Targets: []float64{0.4, 0.6}}),
		"balance":  Key(g, train, Options{Parts: 2, Balance: 1.2}),
		"soft":     Key(g, train, Options{Parts: 2, SoftBalance: 1.2}),
		"passes":   Key(g, train, Options{Parts: 2, Passes: 3}),
		"trials":   Key(g, train, Options{Parts: 2, Trials: 3}),
		"volume":   Key(g, train, Options{Parts: 2, Objective: Volume}),
		"edges":    Key(g, train, Options{Parts: 2, BalanceBy: []Quantity{ByVertices, ByEdges}}),
		"effort":   Key(g, train, Options{Parts: 2, Effort: 3}),
		"attempts": Key(g, train, Options{Parts: 2, MaxEffort: 3}),
		"memory":   Key(g, train, Options{Parts: 2, BalanceBy: []Quantity{ByMemory}, Memory: Memory{Have: []int64{9, 9}}}),
	} {
		if twin, ok := keys[key]; ok {
			t.Errorf("%s and %s have one key", name, twin)
		}
		keys[key] = name
	}
	full := Options{Method: Multilevel, Objective: Cut, BalanceBy: []Quantity{ByVertices}, Threads: 3, Parts: 2, Targets: []float64{0.5, 0.5}, Balance: 1.03, SoftBalance: 1.10, Passes: 8, Trials: 8}
	if Key(g, train, full) != Key(g, train, base) {
		t.Error("defaults written out change the key")
	}
}

func FuzzReadPlan(f *testing.F) {
	b := encoded(f, samplePlan(f))
	f.Add(b)
	f.Add(b[:20])
	f.Add([]byte(planMagic + "\x02\x00\x00\x00\xff\xff\x3f\x00{}"))
	f.Fuzz(func(t *testing.T, b []byte) {
		p, err := decodePlan(bytes.NewReader(b), "fuzz")
		if err != nil {
			return
		}
		if err := p.validate(); err != nil {
			t.Fatalf("accepted an unsound plan: %v", err)
		}
		q, err := decodePlan(bytes.NewReader(encoded(t, p)), "fuzz")
		if err != nil || !reflect.DeepEqual(p, q) {
			t.Fatalf("does not survive writing: %v", err)
		}
	})
}

// FuzzPlanHeader fuzzes behind the checksum, which random bytes never pass: an arbitrary header, parts and dropped
// vertices. What is accepted must be sound and survive writing.
func FuzzPlanHeader(f *testing.F) {
	sample := encoded(f, samplePlan(f))
	size := int(binary.LittleEndian.Uint32(sample[12:]))
	f.Add(sample[16:16+size], sample[16+size:len(sample)-sha256.Size])
	f.Add([]byte(`{"vertices":1,"parts":[{"Inner":1}],"targets":[1],"dropped":[9],"dropped_bytes":1}`), []byte("\x00\x00\x80"))
	f.Fuzz(func(t *testing.T, head, body []byte) {
		b := append([]byte(planMagic), 2, 0, 0, 0)
		b = binary.LittleEndian.AppendUint32(b, uint32(len(head)))
		b = append(append(b, head...), body...)
		sum := sha256.Sum256(b)
		p, err := decodePlan(bytes.NewReader(append(b, sum[:]...)), "fuzz")
		if err != nil {
			var fault *FormatError
			if !errors.As(err, &fault) {
				t.Fatalf("error %v is no *FormatError", err)
			}
			return
		}
		if err := p.validate(); err != nil {
			t.Fatalf("accepted an unsound plan: %v", err)
		}
		q, err := decodePlan(bytes.NewReader(encoded(t, p)), "fuzz")
		if err != nil || !reflect.DeepEqual(p, q) {
			t.Fatalf("does not survive writing: %v\n%+v\n%+v", err, p, q)
		}
	})
}
