package report

import (
	"bytes"
	"capgnn/internal/axis"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// Numbers in the page are those of metrics.jsonl to the last bit, and lines run through them.
func TestNumbersAreThoseOfTheMetrics(t *testing.T) {
	r := sampleRun(t, 40, true)
	p := pageOf(t, r)
	for id, of := range map[string]func(e Epoch) []float64{
		"loss": func(e Epoch) []float64 {
			return []float64{float64(e.Loss), or(some(e.Scores).ValLoss)}
		},
		"epoch-time": func(e Epoch) []float64 { return []float64{e.EpochS} },
		"bytes": func(e Epoch) []float64 {
			return []float64{float64(e.Bytes.D2H), float64(e.Bytes.H2D), float64(e.Bytes.Peer)}
		},
		"refresh": func(e Epoch) []float64 { return []float64{float64(e.Bytes.Refresh)} },
		"lookups": func(e Epoch) []float64 {
			return []float64{float64(e.Cache.LocalHits), float64(e.Cache.GlobalHits), float64(e.Cache.Misses)}
		},
		"coverage": func(e Epoch) []float64 {
			local, all := float64(e.Cache.LocalHits), float64(e.Cache.LocalHits+300)
			return []float64{0.75, (local + 100) / all, local / all}
		},
		"staleness": func(e Epoch) []float64 { return []float64{4, float64(e.Staleness.MaxSeen), 1.5} },
	} {
		d := p.chart(t, id)
		for k, s := range d.Series {
			if s.Name == "validation" {
				if e := r.Epochs[5]; len(s.X) != 13 || s.X[1] != 5 || s.Y[1] != of(e)[k] {
					t.Errorf("%s, %s: %d points, the second is (%v, %v)", id, s.Name, len(s.X), s.X[1], s.Y[1])
				}
				continue
			}
			if len(s.X) != len(r.Epochs) {
				t.Errorf("%s, %s: %d points, want %d", id, s.Name, len(s.X), len(r.Epochs))
				continue
			}
			for i, e := range r.Epochs {
				want := of(e)
				if len(want) <= k || s.X[i] != float64(e.Epoch) || s.Y[i] != want[k] {
					t.Fatalf("%s, %s: (%v, %v) at place %d, want (%d, %v)", id, s.Name, s.X[i], s.Y[i], i, e.Epoch, want)
				}
			}
		}
		if flat := id == "refresh"; flat != p.figures[id].flat {
			t.Errorf("%s: flat is %v", id, !flat)
		} else if !flat {
			checkPaths(t, id, d, p.figures[id].paths)
		}
	}
	if s := p.chart(t, "score").Series; len(s) != 2 || !slices.Equal(s[1].X, []float64{2, 5, 8, 11, 14, 17, 20, 23, 26, 29, 32, 35, 38}) || s[1].Y[0] != 0.25 {
		t.Errorf("scores %v: want those of the epochs that evaluated, and none of the empty split", s)
	}
}

var pointPattern = regexp.MustCompile(`[ML](-?[0-9.]+) (-?[0-9.]+)`)

// checkPaths reads the lines of a chart back through its axes.
func checkPaths(t *testing.T, id string, d chartData, paths []string) {
	t.Helper()
	if len(paths) != len(d.Series) {
		t.Fatalf("%s: %d lines of %d series", id, len(paths), len(d.Series))
	}
	base := make([]float64, len(d.Series[0].X))
	y := axis.Axis{Lo: d.YLo, Hi: d.YHi, From: d.YFrom, To: d.YTo, Log: d.Log}
	for k, s := range d.Series {
		at := pointPattern.FindAllStringSubmatch(paths[k], -1)
		if len(at) < len(s.X) {
			t.Fatalf("%s, %s: %d points in the line, %d in the series", id, s.Name, len(at), len(s.X))
		}
		for i := range s.X {
			px, _ := strconv.ParseFloat(at[i][1], 64)
			py, _ := strconv.ParseFloat(at[i][2], 64)
			v := s.Y[i]
			if d.Stacked {
				base[i] += v
				v = base[i]
			}
			x := d.Lo + (px-d.From)/(d.To-d.From)*(d.Hi-d.Lo)
			if math.Abs(x-s.X[i]) > 0.01/(d.To-d.From)*(d.Hi-d.Lo) || math.Abs(py-y.Place(v)) > 0.01 {
				t.Fatalf("%s, %s: point %d is drawn at (%v, %v), want x %v and %v", id, s.Name, i, px, py, s.X[i], y.Place(v))
			}
			if py < marginTop-0.01 || py > chartHeight-marginBelow+0.01 {
				t.Fatalf("%s, %s: point %d lies outside the picture, at %v", id, s.Name, i, py)
			}
		}
	}
}

// Of many epochs some are drawn: real ones, with every peak.
func TestManyEpochs(t *testing.T) {
	const n = 20_000
	p := points{}
	for i := range n {
		y := 1.0
		if i == 12_345 {
			y = 9
		}
		p.add(float64(i), y)
	}
	thin := p.thin()
	if len(thin.X) > maxPoints || thin.X[0] != 0 || thin.X[len(thin.X)-1] != n-1 || !slices.Contains(thin.Y, 9) || !slices.IsSorted(thin.X) {
		t.Errorf("%d points from %v to %v, largest %v", len(thin.X), thin.X[0], thin.X[len(thin.X)-1], slices.Max(thin.Y))
	}
	m, sum := p.means(), 0.0
	for i := range m.Y {
		sum += m.Y[i]
	}
	if len(m.X) != maxPoints || math.Abs(sum/maxPoints-(n+8)/float64(n)) > 1e-4 {
		t.Errorf("%d means of mean %v, want %v", len(m.X), sum/maxPoints, (n+8)/float64(n))
	}
	big := sampleRun(t, 3000, true)
	var b bytes.Buffer
	if err := WriteRun(&b, big); err != nil {
		t.Fatal(err)
	}
	if b.Len() > 1<<20 {
		t.Errorf("the page of 3,000 epochs has %d bytes", b.Len())
	}
}

// What does not change takes a line, and one epoch is no curve.
func TestFlatCharts(t *testing.T) {
	p := pageOf(t, sampleRun(t, 30, true))
	for id, want := range map[string]string{"refresh": "512\u00a0B"} {
		f := p.figures[id]
		if !f.flat || strings.Contains(f.text, "<svg") || !strings.Contains(f.text, want) || !strings.Contains(f.text, "the same all the time") {
			t.Errorf("%s: %s", id, f.text)
		}
	}
	if p.figures["loss"].flat || p.figures["staleness"].flat {
		t.Error("a chart in which something changes is flat")
	}
	for id, f := range pageOf(t, sampleRun(t, 1, true)).figures {
		if f.kind == "data-chart" && id != "trace" && !f.flat {
			t.Errorf("%s of a single epoch is drawn", id)
		}
	}
}

// A logarithmic axis begins and ends near its numbers.
func TestLogAxis(t *testing.T) {
	for _, c := range []struct {
		lo, hi float64
		want   string
	}{{0.31, 1.9, "0.2 0.5 1 2"}, {1, 1, "1 2"}, {0.011, 99, "0.01 0.1 1 10 100"}, {2, 50, "2 5 10 20 50"}, {1e-7, 1, "1e-07 1e-05 0.001 0.1"}} {
		var texts []string
		a := axis.Log(c.lo, c.hi, plain).Between(0, 100)
		for _, k := range a.Ticks {
			texts = append(texts, k.Text)
		}
		if got := strings.Join(texts, " "); got != c.want || a.Place(c.lo) < -1e-9 || a.Place(c.hi) > 100+1e-9 {
			t.Errorf("from %v to %v: %s, at %v to %v, want %s", c.lo, c.hi, got, a.Place(c.lo), a.Place(c.hi), c.want)
		}
	}
}
