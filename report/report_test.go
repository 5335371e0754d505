package report

import (
	"bytes"
	"encoding/json"
	"io"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// page is a page taken apart: for each picture its data and its paths.
type page struct {
	text    string
	figures map[string]figure
}

type figure struct {
	kind  string // data-chart or data-bars
	text  string
	data  json.RawMessage
	paths []string
}

var (
	figurePattern = regexp.MustCompile(`(?s)<figure (data-chart|data-bars)[^>]*id="([^"]+)".*?</figure>`)
	dataPattern   = regexp.MustCompile(`(?s)<script type="application/json">(.*?)</script>`)
	pathPattern   = regexp.MustCompile(`<path[^>]* d="([^"]*)"`)
)

func takeApart(t *testing.T, text string) page {
	t.Helper()
	p := page{text, map[string]figure{}}
	for _, m := range figurePattern.FindAllStringSubmatch(text, -1) {
		f := figure{kind: m[1], text: m[0]}
		data := dataPattern.FindStringSubmatch(m[0])
		if data == nil {
			t.Fatalf("picture %s has no data", m[2])
		}
		f.data = json.RawMessage(data[1])
		for _, d := range pathPattern.FindAllStringSubmatch(m[0], -1) {
			f.paths = append(f.paths, d[1])
		}
		p.figures[m[2]] = f
	}
	return p
}

func pageOf(t *testing.T, r Run) page {
	t.Helper()
	var b bytes.Buffer
	if err := WriteRun(&b, r); err != nil {
		t.Fatal(err)
	}
	return takeApart(t, b.String())
}

func (p page) chart(t *testing.T, id string) chartData {
	t.Helper()
	var d chartData
	if err := json.Unmarshal(p.figures[id].data, &d); err != nil {
		t.Fatalf("chart %s: %v", id, err)
	}
	return d
}

func ids(p page) []string {
	var out []string
	for id := range p.figures {
		out = append(out, id)
	}
	slices.Sort(out)
	return out
}

// What is in the files is drawn, what is not leaves no empty picture.
func TestWhatIsDrawn(t *testing.T) {
	always := []string{"bytes", "epoch-time", "loss", "memory", "part-edges", "part-training", "part-vertices", "phase-bars", "phases", "score", "trace"}
	if got := ids(pageOf(t, sampleRun(t, 12, false))); !slices.Equal(got, always) {
		t.Errorf("without caches %v are drawn, want %v", got, always)
	}
	want := append(slices.Clone(always), "coverage", "drift", "lookups", "period", "refresh", "staleness")
	slices.Sort(want)
	if got := ids(pageOf(t, sampleRun(t, 12, true))); !slices.Equal(got, want) {
		t.Errorf("with caches %v are drawn, want %v", got, want)
	}
	idle := sampleRun(t, 12, false) // caches that hold nothing, as a policy "none" reports them
	idle.Result.Cache, idle.Result.Staleness = object{"policy": "none", "coverage": 0.0}, object{"bound": 0.0, "max_seen": 0.0}
	for i := range idle.Epochs {
		idle.Epochs[i].Cache = object{"coverage": 0.0, "local_hits": 0.0, "global_hits": 0.0, "misses": 40.0}
		idle.Epochs[i].Staleness = object{"bound": 0.0, "max_seen": 0.0, "mean_seen": 0.0}
	}
	if p := pageOf(t, idle); !slices.Equal(ids(p), always) || strings.Contains(p.text, "Caches") || strings.Contains(p.text, "Staleness") {
		t.Errorf("with caches that hold nothing %v are drawn, want %v", ids(p), always)
	}
	bare := pageOf(t, Run{Name: "runs/x", Planned: 9})
	if got := ids(bare); len(got) != 0 || !strings.Contains(bare.text, "0 of 9 epochs") {
		t.Errorf("a run without an epoch draws %v", got)
	}
}

// What caches did in a finished run stands in words; measurements of drift are drawn alone.
func TestCacheFacts(t *testing.T) {
	r := sampleRun(t, 12, true)
	want := []fact{{"policy", "jaca"}, {"slots in device memory", "10 of 40, 20 of 50 rows"}, {"slots in host memory", "30 of 60 rows"},
		{"a slot on a device", "2\u00a0KiB for all exchanges"}, {"lookups", "800: 50\u00a0% found in device memory, 12.50\u00a0% in host memory, 37.50\u00a0% missed"}}
	if got := r.cacheFacts(); !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
	want = []fact{{"allowed age", "4 epochs"}, {"oldest row used", "4 epochs"}, {"mean age", "1.500 epochs"}, {"allowed drift", "0.05000"},
		{"layer 1", "at the end refreshed every 4 epochs"}, {"layer 2", "at the end refreshed in every epoch and used at once"}}
	if got := r.stalenessFacts(); !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
	r.Result.Cache = object{"capacity": map[string]any{"local": slices.Repeat([]any{5.0}, 9), "union_local": slices.Repeat([]any{7.0}, 9), "global": "?"}}
	want = []fact{{"slots in device memory", "45 of 63 rows on 9 devices"}}
	if got := r.cacheFacts(); !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}

// Numbers in the page are those of metrics.jsonl to the last bit, and lines run through them.
func TestNumbersAreThoseOfTheMetrics(t *testing.T) {
	r := sampleRun(t, 40, true)
	p := pageOf(t, r)
	for id, of := range map[string]func(e Epoch) []float64{
		"loss":       func(e Epoch) []float64 { return []float64{*e.Loss} },
		"epoch-time": func(e Epoch) []float64 { return []float64{e.EpochS} },
		"bytes":      func(e Epoch) []float64 { return []float64{e.Bytes["d2h"], e.Bytes["h2d"], e.Bytes["peer"]} },
		"refresh":    func(e Epoch) []float64 { return []float64{e.Bytes["refresh"]} },
		"lookups": func(e Epoch) []float64 {
			return []float64{e.Cache.number("local_hits"), e.Cache.number("global_hits"), e.Cache.number("misses")}
		},
		"coverage": func(e Epoch) []float64 {
			local, all := e.Cache.number("local_hits"), e.Cache.number("local_hits")+300
			return []float64{0.75, (local + 100) / all, local / all}
		},
		"staleness": func(e Epoch) []float64 { return []float64{4, e.Staleness.number("max_seen"), 1.5} },
		"period":    func(Epoch) []float64 { return []float64{4, 2} },
		"drift":     func(e Epoch) []float64 { return []float64{e.Drift.number("1"), 0.05} },
	} {
		d := p.chart(t, id)
		for k, s := range d.Series {
			if len(s.X) != len(r.Epochs) {
				t.Errorf("%s, %s: %d points, want %d", id, s.Name, len(s.X), len(r.Epochs))
				continue
			}
			for i, e := range r.Epochs {
				want := of(e)
				if len(want) != len(d.Series) || s.X[i] != float64(e.Epoch) || s.Y[i] != want[k] {
					t.Fatalf("%s, %s: (%v, %v) at place %d, want (%d, %v)", id, s.Name, s.X[i], s.Y[i], i, e.Epoch, want)
				}
			}
		}
		checkPaths(t, id, d, p.figures[id].paths)
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
	y := axis{lo: d.YLo, hi: d.YHi, from: d.YFrom, to: d.YTo, log: d.Log}
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
			if math.Abs(x-s.X[i]) > 0.01/(d.To-d.From)*(d.Hi-d.Lo) || math.Abs(py-y.at(v)) > 0.01 {
				t.Fatalf("%s, %s: point %d is drawn at (%v, %v), want x %v and %v", id, s.Name, i, px, py, s.X[i], y.at(v))
			}
			if py < marginTop-0.01 || py > chartHeight-marginBelow+0.01 {
				t.Fatalf("%s, %s: point %d lies outside the picture, at %v", id, s.Name, i, py)
			}
		}
	}
}

// Bars are means over the epochs, by part.
func TestBarsOfParts(t *testing.T) {
	r := sampleRun(t, 10, false)
	p := pageOf(t, r)
	var rows []map[string]float64
	if err := json.Unmarshal(p.figures["phase-bars"].data, &rows); err != nil || len(rows) != 2 {
		t.Fatalf("%d rows, %v", len(rows), err)
	}
	for part, row := range rows {
		for _, key := range []string{"aggregation", "mm", "communication_wait", "communication_transfer", "other"} {
			sum := 0.0
			for _, e := range r.Epochs {
				sum += e.PartS[part][key]
			}
			if want := sum / 10; row[key] != want {
				t.Errorf("part %d, %s: %v, want %v", part, key, row[key], want)
			}
		}
	}
	for _, want := range []string{"part 0 · cpu:0,threads=1", "part 1 · cpu:1,threads=1"} {
		if !strings.Contains(p.figures["phase-bars"].text, want) {
			t.Errorf("no bar is called %q", want)
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

// Texts of a run, which may come from anywhere, stay texts.
func TestTextsAreEscaped(t *testing.T) {
	const evil = `</script><img src=x onerror=alert(1)>"'`
	r := sampleRun(t, 6, true)
	r.Name, r.Result.Dataset, r.Result.Metric, r.Result.Devices[0] = evil, evil, evil, evil
	r.Settings[1].Value, r.Repeat[0].Command, r.Partition.Parts[0].Device, r.Partition.Stop = evil, evil, evil, evil
	r.Result.Cache["policy"] = evil
	r.Epochs[3].Drift[evil] = 0.5
	var two bytes.Buffer
	if err := WriteComparison(&two, []Run{r, sampleRun(t, 4, false)}); err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{"page": pageOf(t, r).text, "comparison": two.String()} {
		if strings.Contains(text, "<img") || strings.Count(text, "</script>") != strings.Count(text, "<script") {
			t.Errorf("%s: a text of the run became part of the page", name)
		}
	}
}

// Nothing in a page asks for anything outside it, and it is the same each time.
func TestPagesStandAlone(t *testing.T) {
	one := pageOf(t, sampleRun(t, 30, true))
	if again := pageOf(t, sampleRun(t, 30, true)); one.text != again.text {
		t.Error("the same run gives another page")
	}
	outside := regexp.MustCompile(`(?i)(src|href|action)\s*=\s*"?[^"d]|url\(|@import|https?://|fetch\(|XMLHttp`)
	if at := outside.FindString(one.text); at != "" {
		t.Errorf("the page refers to something outside it: %q", at)
	}
	for _, want := range []string{`default-src 'none'`, "prefers-color-scheme: dark", `name="viewport"`, "capgnn train --config runs/cora-gcn/config.yaml", "0.2421", "commit c0ffee"} {
		if !strings.Contains(one.text, want) {
			t.Errorf("the page lacks %s", want)
		}
	}
}

func TestComparison(t *testing.T) {
	a, b := sampleRun(t, 12, false), sampleRun(t, 9, true)
	b.Name, b.Settings[1].Value, b.Settings[3].Value = "runs/other", "32", "other key"
	var out bytes.Buffer
	if err := WriteComparison(&out, []Run{a, b}); err != nil {
		t.Fatal(err)
	}
	p := takeApart(t, out.String())
	if got, want := ids(p), []string{"bytes", "coverage", "epoch-time", "loss", "phase-bars", "validation", "validation-time"}; !slices.Equal(got, want) {
		t.Errorf("drawn are %v, want %v", got, want)
	}
	for k, s := range p.chart(t, "loss").Series {
		r := []Run{a, b}[k]
		if s.Name != r.title() || len(s.Y) != len(r.Epochs) || s.Y[3] != *r.Epochs[3].Loss {
			t.Errorf("series %d is %s with %d points", k, s.Name, len(s.X))
		}
	}
	elapsed := 0.0
	for _, e := range a.Epochs[:3] {
		elapsed += e.EpochS
	}
	if s := p.chart(t, "validation-time").Series[0]; s.X[0] != elapsed || s.Y[0] != 0.25 {
		t.Errorf("first validation at %v s, want %v", s.X[0], elapsed)
	}
	if rows := differing([]Run{a, b}); len(rows) != 1 || !slices.Equal(rows[0], []string{"hidden", "64", "32"}) {
		t.Errorf("differing settings: %v", rows)
	}
	heading, rows := Compare([]Run{a, {Name: "x/cora-gcn", Planned: 5}})
	if len(rows) != 2 || len(rows[0]) != len(heading) || rows[0][0] != "runs/cora-gcn" || rows[1][0] != "x/cora-gcn" || slices.Contains(heading, "coverage") {
		t.Errorf("table %v %v", heading, rows)
	}
	if err := WriteComparison(io.Discard, []Run{a}); err == nil {
		t.Error("one run was compared")
	}
}

func TestReadEpochs(t *testing.T) {
	line := `{"epoch":0,"loss":1,"epoch_s":1}` + "\n"
	for name, tc := range map[string]struct {
		text, want string
		epochs     int
	}{
		"none":              {"", "", 0},
		"null loss":         {`{"epoch":0,"loss":null}` + "\n", "", 1},
		"unfinished line":   {line + `{"epoch":1,"lo`, "", 1},
		"unknown keys":      {`{"epoch":0,"loss":1,"more":{"a":[1]},"cache":7}` + "\n", "", 1},
		"no JSON":           {line + "loss 3\n", "line 2", 0},
		"another type":      {`{"epoch":"a"}` + "\n", "line 1", 0},
		"epochs go back":    {line + line, "line 2", 0},
		"endless line":      {`{"epoch":0,"more":"` + strings.Repeat("x", maxLineBytes) + "\"}\n", "line 1", 0},
		"endless last line": {line + strings.Repeat("x", maxLineBytes+1), "line 2", 0},
	} {
		epochs, err := ReadEpochs(strings.NewReader(tc.text))
		if tc.want == "" && (err != nil || len(epochs) != tc.epochs) || tc.want != "" && (err == nil || !strings.Contains(err.Error(), tc.want)) {
			t.Errorf("%s: %d epochs, %v; want %d, %q", name, len(epochs), err, tc.epochs, tc.want)
		}
	}
	if _, err := ReadResult(strings.NewReader(strings.Repeat(" ", maxResultBytes+1))); err == nil {
		t.Error("a result without end was read")
	}
}

func TestAxes(t *testing.T) {
	for _, tc := range []struct {
		lo, hi float64
		q      quantity
		want   string // texts of the ticks
	}{
		{0, 0.00098, seconds, "0|0.5 ms|1.0 ms"},
		{0, 3.5, plain, "0|1|2|3|4"},
		{0, 59, count, "0|20|40|60"},
		{0, 1, count, "0|1"},
		{0, 1 << 20, amount, "0|0.5 MiB|1.0 MiB"},
		{0, 1, share, "0|50 %|100 %"},
		{0.61, 0.83, score, "0.6|0.7|0.8|0.9"},
	} {
		a := linearAxis(tc.lo, tc.hi, tc.q, 4, true)
		var texts []string
		for _, k := range a.Ticks {
			texts = append(texts, strings.ReplaceAll(k.Text, "\u00a0", " "))
		}
		if got := strings.Join(texts, "|"); got != tc.want {
			t.Errorf("axis from %v to %v has %s, want %s", tc.lo, tc.hi, got, tc.want)
		}
	}
	for _, x := range [][2]float64{{1, 1}, {0, 0}, {-5, 5}, {1e18, 1e18 + 256}, {-largest, largest}, {1 / largest, 2 / largest}, {-3, -1}} {
		a := linearAxis(x[0], x[1], plain, 4, true).place(0, 100)
		if !(a.lo < a.hi) || len(a.Ticks) > maxTicks || a.at(x[0]) < -1e-6 || a.at(x[1]) > 100+1e-6 {
			t.Errorf("axis of %v: from %v to %v with %d ticks", x, a.lo, a.hi, len(a.Ticks))
		}
	}
	if a := logAxis(1e-25, 1e25).place(0, 100); len(a.Ticks) > 8 || a.at(1) < 49 || a.at(1) > 51 {
		t.Errorf("logarithmic axis with %d ticks, 1 at %v", len(a.Ticks), a.at(1))
	}
}

func TestNumbersAsText(t *testing.T) {
	for _, tc := range []struct {
		q    quantity
		x    float64
		want string
	}{
		{seconds, 0, "0 µs"}, {seconds, 0.00098, "980 µs"}, {seconds, 75, "75 s"}, {seconds, math.NaN(), "-"},
		{amount, 1000, "1000 B"}, {amount, 1 << 30, "1 GiB"}, {count, 999, "999"}, {count, 1234567, "1.235M"}, {count, 12345, "12 345"}, {count, -1234, "-1 234"},
		{share, 0.5, "50 %"}, {score, 1, "1.0000"}, {plain, 1e-9, "1e-09"}, {plain, math.Inf(1), "-"},
	} {
		if got := strings.NewReplacer("\u00a0", " ", "\u202f", " ").Replace(tc.q.text(tc.x)); got != tc.want {
			t.Errorf("%s %v is written %q, want %q", tc.q, tc.x, got, tc.want)
		}
	}
}

// Whatever stands in a file of metrics, reading and drawing it ends without a panic.
func FuzzMetrics(f *testing.F) {
	f.Add([]byte(sampleMetrics(f, 4, true)))
	f.Add([]byte(`{"epoch":-9223372036854775808,"loss":1e308,"epoch_s":-1e308}` + "\n" + `{"epoch":9223372036854775807,"loss":-1e308,"epoch_s":5e-324}` + "\n"))
	f.Add([]byte(`{"epoch":0,"part_s":[{}]}` + "\n" + `{"epoch":1,"part_s":[{"mm":1},{"mm":-1}]}` + "\n"))
	f.Add([]byte(`{"epoch":0,"cache":{"local_hits":1e300,"misses":-1e300},"drift":{"":{"":[[[]]]}},"bytes":{"d2h":1e29}}` + "\n"))
	f.Fuzz(func(t *testing.T, data []byte) {
		epochs, err := ReadEpochs(bytes.NewReader(data))
		if err != nil {
			return
		}
		run := Run{Name: "r", Epochs: epochs, Result: &Result{Parts: 2, Devices: []string{"a"}}}
		if err := WriteRun(io.Discard, run); err != nil {
			t.Fatal(err)
		}
		if err := WriteComparison(io.Discard, []Run{run, run}); err != nil {
			t.Fatal(err)
		}
	})
}
