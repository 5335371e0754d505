package report

import (
	"bytes"
	"encoding/json"
	"html"
	"regexp"
	"slices"
	"strings"
	"testing"

	"capgnn/internal/browser"
)

// sortProbe clicks the heads of some columns and notes what comes of it.
const sortProbe = `<script>(() => {
  const table = document.querySelector("#runs"), box = table.closest(".scroll"), heads = [...table.querySelectorAll("th[scope=col]")];
  const look = (name) => {
    const k = heads.findIndex((h) => h.textContent === name), sorted = heads.filter((h) => h.hasAttribute("aria-sort"));
    return {sort: sorted.map((h) => h.textContent + " " + h.getAttribute("aria-sort")), cells: [...table.tBodies[0].rows].map((r) => r.cells[k].textContent)};
  };
  const click = (name) => {
    heads.find((h) => h.textContent === name).querySelector("button").click();
    return look(name);
  };
  const out = {before: look("run"), test: [click("test"), click("test"), click("test")], cache: click("gpu-cache"), run: click("run"),
    keys: heads.every((h) => h.querySelector("button").tabIndex === 0), page: document.documentElement.scrollWidth, width: innerWidth, hidden: box.scrollWidth - box.clientWidth, high: box.clientHeight - innerHeight};
  box.scrollTop = 300;
  out.head = heads[0].getBoundingClientRect().bottom - box.getBoundingClientRect().top;
  document.documentElement.dataset.sorted = JSON.stringify(out);
})()</script></body>`

type lookedAt struct{ Sort, Cells []string }

// In a browser a click on a head sorts by its column, by number where there are numbers, up, down and back; rows without a value stay last. Heads can be
// reached by key, and stay in sight. The table of 60 runs scrolls in its box.
func TestSortingRuns(t *testing.T) {
	b := browser.Find(t)
	var page bytes.Buffer
	if err := WriteComparison(&page, manyRuns(t, 60)); err != nil {
		t.Fatal(err)
	}
	seen := b.Open(t, strings.Replace(page.String(), "</body>", sortProbe, 1), browser.View{Width: 400})
	m := regexp.MustCompile(`data-sorted="([^"]*)"`).FindStringSubmatch(seen.DOM)
	if m == nil || len(seen.Console) > 0 {
		t.Fatalf("console: %v", seen.Console)
	}
	var p struct {
		Before, Cache, Run              lookedAt
		Test                            []lookedAt
		Keys                            bool
		Page, Width, Hidden, High, Head float64
	}
	if err := json.Unmarshal([]byte(html.UnescapeString(m[1])), &p); err != nil {
		t.Fatal(err)
	}
	up, down := slices.Clone(p.Test[0].Cells), slices.Clone(p.Test[1].Cells)
	values := slices.Index(up, "-")
	if values != 36 || slices.Index(down, "-") != values || !slices.IsSorted(up[:values]) {
		t.Errorf("by test score: %v and %v", up, down)
	}
	slices.Reverse(down[:values])
	if !slices.Equal(up, down) || !slices.Equal(p.Test[0].Sort, []string{"test ascending"}) || !slices.Equal(p.Test[1].Sort, []string{"test descending"}) || len(p.Test[2].Sort) > 0 {
		t.Errorf("sorted %v, %v, %v", p.Test[0].Sort, p.Test[1].Sort, p.Test[2].Sort)
	}
	if got := slices.Compact(p.Cache.Cells); !slices.Equal(got, []string{"20%", "512MiB", "2GiB", "auto"}) || !slices.Equal(p.Cache.Sort, []string{"gpu-cache ascending"}) {
		t.Errorf("by a setting: %v %v", got, p.Cache.Sort)
	}
	if !slices.Equal(p.Run.Cells, p.Before.Cells) || len(p.Before.Sort) > 0 || p.Run.Cells[10] != "runs/10<b>&" {
		t.Errorf("by name: %v", p.Run.Cells)
	}
	if !p.Keys || p.Page > p.Width || p.Hidden <= 0 || p.High >= 0 || p.Head < 10 {
		t.Errorf("layout: %+v", p)
	}
}
