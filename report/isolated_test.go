package report

import (
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"capgnn/internal/runfile"
)

// isolatedRun returns a run of isolated parts that hold each added chunk for three epochs.
func isolatedRun(t testing.TB, chunks, epochs int) Run {
	t.Helper()
	r := sampleRun(t, epochs, false)
	var b strings.Builder
	for e := range epochs {
		shift := 1 + e/3%max(1, chunks-1)
		switched := ""
		if e > 0 && e%3 == 0 && chunks > 2 {
			switched = fmt.Sprintf(`,"switch":{"s":%g,"bytes":%d}`, float64(e)/1000, 1<<20)
		}
		fmt.Fprintf(&b, `{"epoch":%d,"loss":%g,"epoch_s":0.5,"bytes":{"h2d":1},"isolated":{"shift":%d,"coverage":{"mean":%g,"edges":0.25,"alone":%d}%s}}`+"\n",
			e, float64(r.Epochs[e].Loss), shift, 0.5+float64(shift)/1000, 100+shift, switched)
	}
	var err error
	if r.Epochs, err = runfile.ReadEpochs(strings.NewReader(b.String())); err != nil {
		t.Fatal(err)
	}
	r.Result.Isolated = &runfile.Isolated{Chunks: chunks}
	return r
}

// A run of isolated parts shows what each part added when, what targets saw and what switching took; other runs have none of it.
func TestIsolatedSection(t *testing.T) {
	p := pageOf(t, isolatedRun(t, 5, 10))
	var spans []held
	if err := json.Unmarshal(p.figures["schedule"].data, &spans); err != nil || !slices.Equal(spans, []held{{1, 0, 3}, {2, 3, 6}, {3, 6, 9}, {4, 9, 10}}) {
		t.Errorf("the schedule is %v, %v", spans, err)
	}
	strip := p.figures["schedule"].text
	for _, want := range []string{"epochs 3 to 5: part 4 adds chunk 1<", "epoch 9: part 0 adds chunk 4<", `height="22.00"`} {
		if !strings.Contains(strip, want) {
			t.Errorf("the strip lacks %q", want)
		}
	}
	if n := strings.Count(strip, "<rect"); n != 20 {
		t.Errorf("%d cells, want 20", n)
	}
	seen, took := p.chart(t, "seen"), p.chart(t, "switch-time")
	if len(seen.Series) != 2 || seen.Series[0].Y[9] != 0.504 || !slices.Equal(took.Series[0].X, []float64{3, 6, 9}) || took.Series[0].Y[2] != 0.009 {
		t.Errorf("seen %v, switches %v", seen.Series, took.Series)
	}
	text := strings.ReplaceAll(p.text, "\u00a0", " ")
	for _, want := range []string{"3 in 18.0 ms, 0.4 % of training", "1.0 MiB", "102 in a mean epoch, 104 at most"} {
		if !strings.Contains(text, want) {
			t.Errorf("the page lacks %q", want)
		}
	}
	if other := pageOf(t, sampleRun(t, 12, true)); strings.Contains(other.text, "Isolated parts") || slices.Contains(ids(other), "schedule") {
		t.Error("a run whose parts exchange rows has figures of isolated parts")
	}
}

// Two chunks, which nothing switches, one epoch, a run that is not finished, and more chunks than can be drawn.
func TestIsolatedRunsOfAnyKind(t *testing.T) {
	two := pageOf(t, isolatedRun(t, 2, 9))
	if !slices.Contains(ids(two), "schedule") || slices.Contains(ids(two), "switch-time") || !two.figures["seen"].flat || !strings.Contains(two.text, "<td>none</td>") {
		t.Errorf("two chunks: %v", ids(two))
	}
	if one := pageOf(t, isolatedRun(t, 7, 1)); strings.Count(one.figures["schedule"].text, "<rect") != 7 {
		t.Errorf("one epoch: %v", ids(one))
	}
	for set, value := range map[string]string{"isolated": "chunks=5,targets=both", "parts": "5"} {
		r := isolatedRun(t, 5, 4)
		r.Result, r.Settings = nil, append(r.Settings, Setting{Name: set, Value: value})
		if p := pageOf(t, r); strings.Count(p.figures["schedule"].text, "<rect") != 10 {
			t.Errorf("not finished, %s %s: %v", set, value, ids(p))
		}
	}
	for _, c := range []int{3, 16, 33, maxStripParts} {
		for _, x := range isolatedRunStrip(t, c).Cells {
			if x.X < stripLeft || x.X+x.Width > chartWidth || !(x.Height > 5) || !(x.Opacity > 0 && x.Opacity < 1) {
				t.Fatalf("%d chunks: cell %+v", c, x)
			}
		}
	}
	if p := pageOf(t, isolatedRun(t, 64, 200)); slices.Contains(ids(p), "schedule") || !slices.Contains(ids(p), "seen") {
		t.Errorf("64 chunks: %v", ids(p))
	}
}

func isolatedRunStrip(t *testing.T, chunks int) *strip {
	t.Helper()
	r := isolatedRun(t, chunks, 3*(chunks-1))
	s := r.scheduleStrip()
	if s == nil || len(s.Cells) != chunks*(chunks-1) {
		t.Fatalf("%d chunks: %+v", chunks, s)
	}
	return s
}

// Numbers that no run has are left out, and break nothing.
func TestIsolatedOfDamagedFiles(t *testing.T) {
	for name, damage := range map[string]func(*Run){
		"shift 0":      func(r *Run) { r.Epochs[2].Isolated.Shift = 0 },
		"shift beyond": func(r *Run) { r.Epochs[2].Isolated.Shift = 5 },
		"no shift":     func(r *Run) { r.Epochs[1].Isolated = nil },
		"no chunks":    func(r *Run) { r.Result.Isolated = nil },
		"many chunks":  func(r *Run) { r.Result.Isolated = &runfile.Isolated{Chunks: math.MaxInt} },
	} {
		r := isolatedRun(t, 5, 8)
		damage(&r)
		if p := pageOf(t, r); slices.Contains(ids(p), "schedule") {
			t.Errorf("%s: a schedule is drawn", name)
		}
	}
	r := isolatedRun(t, 5, 8)
	r.Epochs[3].Isolated.Switch.S, r.Epochs[6].Isolated.Switch.S = -1, math.Inf(1)
	if p := pageOf(t, r); slices.Contains(ids(p), "switch-time") {
		t.Error("switches of no time are drawn")
	}
}
