package report

import (
	"bytes"
	"encoding/json"
	"fmt"
	"html"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"capgnn/internal/browser"
	"capgnn/internal/runfile"
)

// probe is a script that looks at the page from inside: it points at the middle of every chart and notes what it sees.
const probe = `<script>(() => {
  const shown = {};
  for (const f of document.querySelectorAll("figure[data-chart]")) {
    if (f.classList.contains("flat")) {
      shown[f.id] = {at: f.querySelector(".at").textContent, values: [], width: f.getBoundingClientRect().width};
      continue;
    }
    const svg = f.querySelector("svg"), box = svg.getBoundingClientRect();
    svg.dispatchEvent(new PointerEvent("pointermove", {clientX: box.left + box.width * 0.6, clientY: box.top + 50}));
    shown[f.id] = {at: f.querySelector(".at").textContent, values: [...f.querySelectorAll("output")].map((o) => o.textContent), width: box.width};
    svg.dispatchEvent(new PointerEvent("pointerleave"));
  }
  const brokenWords = (cell) => [...cell.textContent.matchAll(/\S+/g)].filter((m) => {
    const r = document.createRange(), text = (cell.querySelector("button") || cell).firstChild;
    r.setStart(text, m.index);
    r.setEnd(text, m.index + m[0].length);
    return r.getClientRects().length > 1;
  }).map((m) => m[0]);
  const page = document.documentElement, tables = [...document.querySelectorAll(".scroll")].map((t) => t.scrollWidth - t.clientWidth);
  const entries = [...document.querySelectorAll("#components .legend button")], picked = () => [...document.querySelectorAll("#components .pick")].map((e) => e.tagName + e.dataset.group).join() + entries.map((b) => b.getAttribute("aria-pressed")).indexOf("true");
  const picks = entries.length ? [0, 3, 5, 5].map((k) => (k && entries[k].click(), picked())) : null;
  const loss = document.querySelector("#loss"), paths = () => [...loss.querySelectorAll("path.curve")].map((p) => p.getAttribute("d"));
  const drawn = paths(), log = loss.querySelector(".log"), smooth = loss.querySelector(".smooth");
  log.click();
  const other = paths(), ticks = [...loss.querySelectorAll(".ticks text")].map((t) => t.textContent);
  log.click();
  const back = paths();
  smooth.value = 90;
  smooth.dispatchEvent(new Event("input"));
  const soft = paths();
  page.dataset.probe = JSON.stringify({picks, shown, width: innerWidth, wide: page.scrollWidth, facts: Math.min(...[...document.querySelectorAll("th[scope=row] + td")].map((d) => d.offsetWidth / d.closest("table").offsetWidth)), cut: Math.max(0, ...tables),
    torn: [...document.querySelectorAll("pre span")].filter((w) => w.textContent.length < 20 && w.getClientRects().length + (w.offsetHeight > 30) > 1).map((w) => w.textContent).concat(...[...document.querySelectorAll("th[scope=col]")].map(brokenWords)), drawn, other, ticks, again: back, soft, back: getComputedStyle(document.body).backgroundColor});
})()</script></body>`

type probed struct {
	Shown map[string]struct {
		At     string
		Values []string
		Width  float64
	}
	Width, Wide int
	Cut         int      // pixels of tables that are not seen without scrolling
	Torn        []string // short words of commands, and words of headings of columns, that stand on two lines
	Facts       float64  // least share of a table of facts that is left for what it says
	// The curves of the loss: as the page comes, on the other scale with its ticks, on the first again, and smoothed.
	Drawn, Other, Ticks, Again, Soft []string
	Back                             string
	Picks                            []string // of points by class: what stands out, as the page comes, with the fourth class, the sixth, and the sixth again
}

var (
	probePattern  = regexp.MustCompile(`data-probe="([^"]*)"`)
	chartsPattern = regexp.MustCompile(`data-charts="([0-9]+)"`)
)

func lookAt(t *testing.T, b browser.Browser, text string, v browser.View) (browser.Seen, probed) {
	t.Helper()
	seen := b.Open(t, strings.Replace(text, "</body>", probe, 1), v)
	m := probePattern.FindStringSubmatch(seen.DOM)
	if m == nil {
		t.Fatalf("the probe saw nothing; console: %v", seen.Console)
	}
	var p probed
	if err := json.Unmarshal([]byte(html.UnescapeString(m[1])), &p); err != nil {
		t.Fatal(err)
	}
	return seen, p
}

// In a browser, wide and narrow, light and dark: no word on the console, nothing wider than the window, every chart answers to the
// pointer with numbers of the metrics.
func TestPagesInABrowser(t *testing.T) {
	b := browser.Find(t)
	r := sampleRun(t, 41, true)
	r.Name = "runs/" + strings.Repeat("a-very-long-name-", 8)
	classes := classesRun(t, manyClasses())
	r.Result.ByClass, r.Result.Confusion = classes.Result.ByClass, classes.Result.Confusion
	r.Result.Data = &runfile.Data{Degrees: []int{3, 1, 100, 0, 1000}, Classes: map[string][]int{"train": slices.Repeat([]int{8}, 30)}}
	r.Result.Classes = slices.Repeat([]string{"a-rather-long-name-of-a-class"}, 30)
	r.Components, r.Trace = componentsRun(t, 47, 1).Components, traceRun(t, 6, 300).Trace
	r.Result.Devices[0] = "cpu:0,threads=1,slow=3,link=1GiB/s,latency=20us,mem=8GiB"
	var one, two, three bytes.Buffer
	if err := WriteRun(&one, r); err != nil {
		t.Fatal(err)
	}
	if err := WriteComparison(&two, []Run{r, sampleRun(t, 20, false)}); err != nil {
		t.Fatal(err)
	}
	if err := WriteRun(&three, rankRun(t, 3, 41)); err != nil {
		t.Fatal(err)
	}
	var four bytes.Buffer
	if err := WriteRun(&four, sampledRun(t, 41)); err != nil {
		t.Fatal(err)
	}
	var five bytes.Buffer
	if err := WriteRun(&five, isolatedRun(t, 16, 41)); err != nil {
		t.Fatal(err)
	}
	var six bytes.Buffer
	if err := WriteSeeds(&six, []Run{r, sampleRun(t, 41, false), sampleRun(t, 20, false)}, nil); err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{"run": one.String(), "seeds": six.String(), "comparison": two.String(), "ranks": three.String(), "sampled": four.String(), "isolated": five.String()} {
		for _, v := range []browser.View{{Width: 1280}, {Width: 400}, {Width: 1280, Dark: true}, {Width: 400, Dark: true}} {
			if name != "run" && v.Dark == (v.Width == 400) {
				continue // wide in the dark and narrow in the light will do
			}
			t.Run(fmt.Sprintf("%s %+v", name, v), func(t *testing.T) {
				seen, p := lookAt(t, b, text, v)
				for _, line := range seen.Console {
					t.Errorf("console: %s", line)
				}
				if p.Width != v.Width || p.Wide > p.Width {
					t.Errorf("the page is %d pixels wide in a window of %d", p.Wide, p.Width)
				}
				if v.Width == 1280 && p.Cut > 0 {
					t.Errorf("%d pixels of a table are cut off", p.Cut)
				}
				if len(p.Torn) > 0 {
					t.Errorf("words are torn: %q", p.Torn)
				}
				if strings.Contains(text, `<th scope="row">`) && p.Facts < 0.5 {
					t.Errorf("names of facts leave %.0f %% of the width for what is said of them", 100*p.Facts)
				}
				checkTools(t, p)
				if want := []string{"-1", "g3,LI33", "g5,LI55", "-1"}; name == "run" && !slices.Equal(p.Picks, want) {
					t.Errorf("points that stand out: %q, want %q", p.Picks, want)
				}
				if dark := p.Back == "rgb(17, 22, 28)"; dark != v.Dark {
					t.Errorf("the background is %s", p.Back)
				}
				charts := strings.Count(text, "<figure data-chart")
				if m := chartsPattern.FindStringSubmatch(seen.DOM); m == nil || m[1] != strconv.Itoa(charts) || len(p.Shown) != charts {
					t.Errorf("%v charts answer, %d were pointed at, want %d", m, len(p.Shown), charts)
				}
				// The pointer is at 0.6 × 420 of the chart's units, where x is 22.2 of 0 to 40: epoch 22.
				e := r.Epochs[22]
				if got, want := p.Shown["loss"], written(plain, float64(e.Loss)); got.At != "epoch 22" || got.Values[0] != want || got.Width < 250 {
					t.Errorf("loss at %q is %v in a chart of %v pixels, want %s", got.At, got.Values, got.Width, want)
				}
				if got := p.Shown["bytes"]; name == "run" && (got.Values[0] != written(amount, float64(e.Bytes.D2H))) {
					t.Errorf("bytes are %v, want %s first", got.Values, written(amount, float64(e.Bytes.D2H)))
				}
			})
		}
	}
}

// checkTools holds the switches of the loss to what they are to do.
func checkTools(t *testing.T, p probed) {
	t.Helper()
	if !slices.Equal(p.Drawn, p.Again) || len(p.Other) != len(p.Drawn) || slices.Equal(p.Other, p.Drawn) {
		t.Errorf("the other scale: %.80q, the first %.80q, and again %.80q", p.Other, p.Drawn, p.Again)
	}
	if len(p.Ticks) < 2 || strings.Contains(strings.Join(p.Other, ""), "NaN") {
		t.Errorf("ticks of the other scale: %v", p.Ticks)
	}
	if len(p.Soft) != 2*len(p.Drawn) || p.Soft[0] != p.Drawn[0] || p.Soft[1] == p.Drawn[0] || strings.Contains(strings.Join(p.Soft, ""), "NaN") {
		t.Errorf("smoothed: %d curves, %.80q", len(p.Soft), p.Soft)
	}
}

// The console is heard: a page whose script fails, or that wants something from outside, says so there.
func TestBrokenPagesAreNoticed(t *testing.T) {
	b := browser.Find(t)
	var out bytes.Buffer
	if err := WriteRun(&out, sampleRun(t, 5, false)); err != nil {
		t.Fatal(err)
	}
	for name, extra := range map[string]string{
		"error":   `<script>throw new Error("broken")</script></body>`,
		"network": `<img src="https://example.org/x.png"></body>`,
	} {
		if seen := b.Open(t, strings.Replace(out.String(), "</body>", extra, 1), browser.View{Width: 800}); len(seen.Console) == 0 {
			t.Errorf("%s: nothing on the console", name)
		}
	}
}
