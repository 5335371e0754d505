package report

import (
	"bytes"
	"encoding/json"
	"fmt"
	"html"
	"regexp"
	"strings"
	"testing"

	"capgnn/internal/browser"
)

// The script writes numbers as Go does.
func TestScriptWritesNumbersAsGo(t *testing.T) {
	b := browser.Find(t)
	type asked struct {
		Kind quantity
		X    float64
		Want string
	}
	var all []asked
	for _, q := range []quantity{plain, share, score, seconds, amount, count, "ratio"} {
		for _, x := range []float64{0, 1, 12, 0.31, 0.0004, 1.3e-7, 0.9996, 0.99951, 7.77, 59.97, 99.96, 119.4, 119.6, 999.4, 999.7, 1000, 3072, 10801, 65536, 123456.7, 98765432, 3 << 30, 5 << 41} {
			if q == seconds && x > 1e9 {
				continue
			}
			if q == count {
				x = float64(int64(x))
			}
			all = append(all, asked{q, x, written(q, x)})
		}
	}
	data, err := json.Marshal(all)
	if err != nil {
		t.Fatal(err)
	}
	ask := fmt.Sprintf(`const all = %s; document.documentElement.dataset.wrong = all.filter((a) => text(a.Kind, a.X) !== a.Want).map((a) => a.Kind + " " + a.X + " is " + text(a.Kind, a.X) + ", want " + a.Want).join("; ") || "none";`, data)
	var out bytes.Buffer
	if err := WriteRun(&out, sampleRun(t, 5, false)); err != nil {
		t.Fatal(err)
	}
	end := "document.documentElement.dataset.charts"
	if strings.Count(out.String(), end) != 1 {
		t.Fatal("the script has another end")
	}
	seen := b.Open(t, strings.Replace(out.String(), end, ask+end, 1), browser.View{Width: 800})
	m := regexp.MustCompile(`data-wrong="([^"]*)"`).FindStringSubmatch(seen.DOM)
	if m == nil || m[1] != "none" {
		t.Errorf("%v; console: %v", html.UnescapeString(strings.Join(m, " ")), seen.Console)
	}
}
