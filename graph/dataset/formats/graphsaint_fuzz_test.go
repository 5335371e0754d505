package formats

import (
	"bytes"
	"encoding/json"
	"slices"
	"strconv"
	"strings"
	"testing"

	"capgnn/graph"
	"capgnn/graph/dataset"
	"capgnn/graph/dataset/internal/check"
	"capgnn/graph/dataset/internal/textfile"
)

// FuzzClassMap: what is accepted is JSON, says what encoding/json reads from it, and makes a valid data set.
func FuzzClassMap(f *testing.F) {
	for _, s := range []string{toyMulti, `{"0": 1, "3":2.0,"4":-1}`, `{"0": [1, 0]`, `{"0":[1],"1":[0]}`, `{"0": 1e5}`, `{"1":0.5}`, `{}`} {
		f.Add([]byte(s), uint8(5))
	}
	f.Fuzz(func(t *testing.T, b []byte, vertices uint8) {
		n := int(vertices) + 1
		d := dataset.Dataset{Graph: &graph.CSR{Indptr: make([]int64, n+1), Cols: n}}
		if !fuzzed(t, b, scanClassMap(&d, textfile.NewScanner("c.json", bytes.NewReader(b)), int64(len(b)), n)) {
			return
		}
		if err := d.Validate(); err != nil {
			t.Fatal(err)
		}
		var want map[string]json.RawMessage
		if err := json.Unmarshal(b, &want); err != nil {
			t.Fatal(err)
		}
		for v := range n {
			value, there := want[strconv.Itoa(v)]
			var one float64
			var list []float64
			switch {
			case !there && (d.Labels == nil || d.Labels[v] != -1):
				t.Fatalf("vertex %d is missing, but has a label", v)
			case !there:
			case d.Labels != nil:
				if err := json.Unmarshal(value, &one); err != nil || one != float64(d.Labels[v]) {
					t.Fatalf("vertex %d: %s is read as %d", v, value, d.Labels[v])
				}
			default:
				row := d.Targets[v*d.Classes : (v+1)*d.Classes]
				if err := json.Unmarshal(value, &list); err != nil || !slices.EqualFunc(list, row, func(a float64, b uint8) bool { return a == float64(b) }) {
					t.Fatalf("vertex %d: %s is read as %d", v, value, row)
				}
			}
		}
	})
}

// fuzzed reports whether b was accepted; an error must be one line with the file.
func fuzzed(t *testing.T, b []byte, err error) bool {
	if err != nil && (!strings.HasPrefix(err.Error(), "c.json: ") || strings.Contains(err.Error(), "\n")) {
		t.Fatalf("no place, or more than one line: %q", err)
	}
	if err == nil && !json.Valid(b) {
		t.Fatalf("accepted, but no JSON: %q", b)
	}
	return err == nil
}

// FuzzRoles: what is accepted is JSON and lists exactly the vertices of the masks.
func FuzzRoles(f *testing.F) {
	for _, s := range []string{toyRoles, `{"tr":[]}`, `{"te": [1, 1], "tr": [0]}`, `{"tr": [0, 1`, `{"xx": [0]}`, `{"tr": [1.0, 300]}`} {
		f.Add([]byte(s), uint8(5))
	}
	f.Fuzz(func(t *testing.T, b []byte, vertices uint8) {
		n := int(vertices)
		var d dataset.Dataset
		if !fuzzed(t, b, scanRoles(&d, textfile.NewScanner("c.json", bytes.NewReader(b)), n)) {
			return
		}
		var want map[string][]float64
		if err := json.Unmarshal(b, &want); err != nil {
			t.Fatal(err)
		}
		for role, mask := range map[string][]bool{"tr": d.Train, "va": d.Val, "te": d.Test} {
			if (mask == nil) != (want[role] == nil) || check.CountTrue(mask) != len(want[role]) {
				t.Fatalf("%s: %v is read as %v", role, want[role], mask)
			}
			for _, v := range want[role] {
				if !mask[int(v)] {
					t.Fatalf("%s: %v is read as %v", role, want[role], mask)
				}
			}
		}
	})
}
