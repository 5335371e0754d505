package learn

import (
	"encoding/json"
	"math"
	"math/rand/v2"
	"os"
	"strings"
	"testing"

	"capgnn/gnn"
	"capgnn/graph"
)

// referenceCase is logits of vertices with their labels, and what scikit-learn makes of them.
type referenceCase struct {
	Name      string
	Classes   int
	Logits    []float32
	Labels    []int32
	Targets   []int
	Macro     *float64 `json:"macro-f1"`
	ROCAUC    *float64 `json:"roc-auc"`
	Precision *float64 `json:"average-precision"`
}

func referenceCases(t *testing.T) []referenceCase {
	t.Helper()
	data, err := os.ReadFile("../../testdata/training.json")
	if err != nil {
		t.Fatal(err)
	}
	var all struct{ Metrics []referenceCase }
	if err := json.Unmarshal(data, &all); err != nil || len(all.Metrics) == 0 {
		t.Fatalf("%d cases, %v", len(all.Metrics), err)
	}
	return all.Metrics
}

// problem returns one whose vertices are those of a case in an order of their own, and some outside of all splits. row[v] is that of vertex v.
func (c *referenceCase) problem(r *rand.Rand) (p *Problem, row []int) {
	n := len(c.Logits) / c.Classes
	row = r.Perm(n + 5)
	p = &Problem{Graph: &graph.CSR{Indptr: make([]int64, n+6), Cols: n + 5}, Classes: c.Classes, Val: make([]bool, n+5)}
	if c.Labels != nil {
		p.Labels = make([]int32, n+5)
	} else {
		p.Targets = make([]uint8, (n+5)*c.Classes)
	}
	for v, i := range row {
		if i >= n {
			if row[v] = 0; p.Labels != nil {
				p.Labels[v] = -1
				p.Val[v] = true // without a label it counts for nothing
			}
			continue
		}
		p.Val[v] = true
		if p.Labels != nil {
			p.Labels[v] = c.Labels[i]
			continue
		}
		for j := range c.Classes {
			p.Targets[v*c.Classes+j] = uint8(c.Targets[i*c.Classes+j])
		}
	}
	return p, row
}

// judged scores a case as so many parts would that see its vertices in chunks.
func (c *referenceCase) judged(p *Problem, row []int, m Metric, parts, chunk int, r *rand.Rand) *float64 {
	j := judgeOf(p, m)
	all := make([]Evidence, parts)
	ids := r.Perm(len(row))
	for lo := 0; lo < len(ids); lo += chunk {
		var some []graph.NodeID
		var logits []float32
		for _, v := range ids[lo:min(len(ids), lo+chunk)] {
			some = append(some, graph.NodeID(v))
			logits = append(logits, c.Logits[row[v]*c.Classes:][:c.Classes]...)
		}
		j.Count(&all[lo/chunk%parts], some, logits)
	}
	return MetricsOf(j, all).Val
}

// Metrics are those of scikit-learn, whatever part has which vertices, to the bit the same.
func TestMetricsOfScikitLearn(t *testing.T) {
	r := rand.New(rand.NewPCG(26, 2))
	for _, c := range referenceCases(t) {
		p, row := c.problem(r)
		for m, want := range map[Metric]*float64{MacroF1: c.Macro, ROCAUC: c.ROCAUC, AveragePrecision: c.Precision} {
			if _, err := m.Of(p); err != nil {
				if p.Targets != nil || c.Classes == 2 || m == MacroF1 {
					t.Errorf("%s: %v", c.Name, err)
				}
				continue
			}
			first := c.judged(p, row, m, 1, len(row), r)
			switch {
			case (first == nil) != (want == nil):
				t.Errorf("%s: %s is %v, want %v", c.Name, m, first, want)
				continue
			case want != nil && math.Abs(*first-*want) > 1e-12:
				t.Errorf("%s: %s is %.15g, want %.15g", c.Name, m, *first, *want)
			}
			for range 20 {
				again := c.judged(p, row, m, 1+r.IntN(6), 1+r.IntN(20), r)
				if (again == nil) != (first == nil) || first != nil && *again != *first {
					t.Errorf("%s: %s over parts is %v, of one %v", c.Name, m, again, first)
				}
			}
		}
	}
}

// A metric that a problem does not have is refused, and classes that it leaves out are named.
func TestMetricsOfProblems(t *testing.T) {
	three := &Problem{Graph: &graph.CSR{Indptr: make([]int64, 5), Cols: 4}, Classes: 3, Labels: []int32{0, 1, 1, -1}, Train: []bool{true, true, false, false}, Val: []bool{false, false, true, true}}
	two := &Problem{Graph: three.Graph, Classes: 2, Labels: []int32{0, 1, 1, -1}, Train: three.Train, Val: three.Val, Test: make([]bool, 4)}
	several := &Problem{Graph: three.Graph, Classes: 2, Targets: []uint8{0, 1, 1, 1, 0, 0, 0, 1}, Train: three.Train, Val: three.Val}
	for _, c := range []struct {
		p     *Problem
		m, is Metric // is "": refused
		gaps  string
	}{
		{three, Auto, Accuracy, ""}, {several, Auto, MicroF1, ""}, {three, "", Accuracy, ""}, {three, Accuracy, Accuracy, ""}, {several, Accuracy, "", ""}, {three, MicroF1, "", ""},
		{several, MicroF1, MicroF1, ""}, {three, MacroF1, MacroF1, "1 of 3 in train, 2 of 3 in val"}, {three, ROCAUC, "", ""}, {three, AveragePrecision, "", ""},
		{two, ROCAUC, ROCAUC, "2 of 2 in val"}, {several, ROCAUC, ROCAUC, "1 of 2 in train, 1 of 2 in val"}, {several, MacroF1, MacroF1, "1 of 2 in val"},
	} {
		got, err := c.m.Of(c.p)
		if (err == nil) != (c.is != "") || err == nil && got != c.is {
			t.Errorf("%s is %s, %v, want %q", c.m, got, err, c.is)
			continue
		}
		if rule := ", of which only 0 and 1 have vertices (make two classes of them)"; err != nil && strings.Contains(err.Error(), rule) != (c.p == three && c.m.ranks()) {
			t.Errorf("%s is refused: %v", c.m, err)
		}
		if gaps := c.m.Gaps(c.p); err == nil && gaps != c.gaps {
			t.Errorf("%s leaves out %q, want %q", c.m, gaps, c.gaps)
		}
	}
}

// Scores that are no numbers are the lowest: weights that give them are not the best ones.
func TestRanksOfNoNumbers(t *testing.T) {
	bad := float32(math.NaN())
	var r gnn.Ranked
	for i, s := range []float32{bad, 2, 1, float32(math.Inf(-1)), bad} {
		r.Add(s, i < 2)
	}
	if auc, ok := r.ROCAUC(); !ok || auc != (2.0/2+3)/6 { // one positive equals two of three negatives, the other is above all
		t.Errorf("area %v, %t", auc, ok)
	}
	if ap, ok := r.AveragePrecision(); !ok || ap != (1+2.0/5)/2 {
		t.Errorf("precision %v, %t", ap, ok)
	}
}
