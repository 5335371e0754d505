package rapa

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"reflect"
	"testing"

	"capgnn/graph"
)

func samplePlan(t testing.TB) *Plan {
	g := must(t)(graph.Random(30, 60, true, 1))
	p, err := Partition(t.Context(), g, nil, Options{Parts: 3, Targets: []float64{0.5, 0.3, 0.2}, Seed: 4}, nil)
	if err != nil {
		t.Fatal(err)
	}
	return p
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
	g := must(t)(graph.Random(30, 60, true, 1))
	h := must(t)(graph.Random(30, 60, true, 2))
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
	} {
		if twin, ok := keys[key]; ok {
			t.Errorf("%s and %s have one key", name, twin)
		}
		keys[key] = name
	}
	full := Options{Method: Streaming, Parts: 2, Targets: []float64{0.5, 0.5}, Balance: 1.03, SoftBalance: 1.10, Passes: 8, Trials: 8}
	if Key(g, train, full) != Key(g, train, base) {
		t.Error("defaults written out change the key")
	}
}

func FuzzReadPlan(f *testing.F) {
	b := encoded(f, samplePlan(f))
	f.Add(b)
	f.Add(b[:20])
	f.Add([]byte(planMagic + "\x01\x00\x00\x00\xff\xff\x3f\x00{}"))
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

// FuzzPlanHeader fuzzes behind the checksum, which random bytes never pass.
func FuzzPlanHeader(f *testing.F) {
	p := samplePlan(f)
	f.Add(p.Key, string(p.Method), int64(30), uint16(2), 0.5)
	f.Fuzz(func(t *testing.T, key, method string, inner int64, part uint16, target float64) {
		q := *p
		q.Key, q.Method = key, Method(method)
		q.Part = append([]int32{int32(part)}, p.Part[1:]...)
		q.Parts = append([]Stats{{Inner: inner}}, p.Parts[1:]...)
		q.Targets = []float64{target, 1 - target}
		var b bytes.Buffer
		if encodePlan(&b, &q) != nil {
			return
		}
		if got, err := decodePlan(&b, "fuzz"); err == nil && got.validate() != nil {
			t.Fatal("accepted an unsound plan")
		}
	})
}
