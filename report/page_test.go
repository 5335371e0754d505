package report

import (
	"bytes"
	"encoding/json"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// page is a page taken apart: for each picture its data and its paths.
type page struct {
	text    string
	figures map[string]figure
}

type figure struct {
	kind  string // data-chart, data-bars, data-matrix, data-strip, data-histogram, data-scatter or data-timeline
	flat  bool   // a chart without curves: nothing changes
	text  string
	data  json.RawMessage
	paths []string
}

var (
	figurePattern = regexp.MustCompile(`(?s)<figure (data-chart|data-bars|data-matrix|data-strip|data-histogram|data-scatter|data-timeline)[^>]*id="([^"]+)".*?</figure>`)
	dataPattern   = regexp.MustCompile(`(?s)<script type="application/json">(.*?)</script>`)
	pathPattern   = regexp.MustCompile(`<path[^>]* d="([^"]*)"`)
)

func takeApart(t *testing.T, text string) page {
	t.Helper()
	p := page{text, map[string]figure{}}
	for _, m := range figurePattern.FindAllStringSubmatch(text, -1) {
		f := figure{kind: m[1], text: m[0], flat: strings.Contains(m[0], `class="flat"`)}
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

// Texts of a run, which may come from anywhere, stay texts.
func TestTextsAreEscaped(t *testing.T) {
	const evil = `</script><img src=x onerror=alert(1)>"'`
	r := sampleRun(t, 6, true)
	r.Name, r.Result.Dataset, r.Result.Metric, r.Result.Devices[0] = evil, evil, evil, evil
	r.Settings[1].Value, r.Repeat[0].Command, r.Partition.Parts[0].Device, r.Partition.Stop = evil, evil, evil, evil
	r.Result.Cache.Policy = evil
	r.Result.Staleness.Period = map[string]int{evil: 4}
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
	for _, want := range []string{`default-src 'none'`, "prefers-color-scheme: dark", `name="viewport"`, "<span>--config</span> <span>runs/cora-gcn/config.yaml</span>", "0.2421", "commit c0ffee"} {
		if !strings.Contains(one.text, want) {
			t.Errorf("the page lacks %s", want)
		}
	}
}
