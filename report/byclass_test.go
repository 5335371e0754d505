package report

import (
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"
)

var (
	rowPattern  = regexp.MustCompile(`(?s)<tr>(<td>.*?)</tr>`)
	cellPattern = regexp.MustCompile(`<td>(.*?)</td>`)
)

// rowsOf returns the cells of the rows of a table, and of those that are folded away below it.
func rowsOf(t *testing.T, page, id string) (shown, rest []string) {
	t.Helper()
	_, after, ok := strings.Cut(page, `id="`+id+`"`)
	if !ok {
		return nil, nil
	}
	first, after, _ := strings.Cut(after, "</table>")
	read := func(text string) (rows []string) {
		for _, m := range rowPattern.FindAllStringSubmatch(text, -1) {
			var cells []string
			for _, c := range cellPattern.FindAllStringSubmatch(m[1], -1) {
				cells = append(cells, c[1])
			}
			rows = append(rows, strings.Join(cells, " | "))
		}
		return rows
	}
	if details, _, folded := strings.Cut(after, "</details>"); folded && strings.Contains(details[:min(len(details), 900)], "<summary>The ") {
		rest = read(details)
	}
	return read(first), rest
}

// classesRun returns a run whose result has what is given besides.
func classesRun(t *testing.T, result string) Run {
	t.Helper()
	r := sampleRun(t, 12, false)
	if err := json.Unmarshal([]byte(result), r.Result); err != nil {
		t.Fatal(err)
	}
	return r
}

// The table holds the scores of the result with the names of classes and their mean, and the matrix its counts; what is not defined is no number.
func TestClassTable(t *testing.T) {
	const scores = `"test_by_class":[{"class":0,"support":4,"precision":0.75,"recall":0.5,"f1":0.6},{"class":1,"support":0,"precision":0,"recall":null,"f1":0},
{"class":2,"support":1,"precision":null,"recall":0,"f1":0},{"class":3,"support":0,"precision":null,"recall":null,"f1":null}]`
	const confusion = `,"test_confusion":{"classes":[0,1,2,3],"counts":[[2,2,0,0],[0,0,0,0],[1,0,0,0],[0,0,0,0]]}`
	want := []string{"0 | 4 | 0.7500 | 0.5000 | 0.6000", "1 | 0 | 0.0000 | - | 0.0000", "2 | 1 | - | 0.0000 | 0.0000", "3 | 0 | - | - | -"}
	for _, c := range []struct {
		name, result, mean string
		matrix             bool
	}{
		{"one label", "{" + scores + confusion + "}", "mean | 5 | 0.2500 | 0.1667 | 0.2000", true},
		{"named", `{"class_names":["a","b<"],` + scores + confusion + "}", "mean | 5 | 0.2500 | 0.1667 | 0.2000", true},
		{"several labels", `{"metric":"micro-f1",` + scores + "}", "mean | 5 | 0.1875 | 0.1250 | 0.1500", false},
		{"several labels by rank", `{"metric":"roc-auc","multi_label":true,` + scores + "}", "mean | 5 | 0.1875 | 0.1250 | 0.1500", false},
		{"counts that are no matrix", "{" + scores + `,"test_confusion":{"classes":[0,1],"counts":[[1,2],[1]]}}`, "mean | 5 | 0.2500 | 0.1667 | 0.2000", false},
		{"counts without classes", "{" + scores + `,"test_confusion":{"classes":[0],"counts":[[1,2],[1,2]]}}`, "mean | 5 | 0.2500 | 0.1667 | 0.2000", false},
	} {
		p := pageOf(t, classesRun(t, c.result))
		rows, rest := rowsOf(t, p.text, "by-class")
		lines := append(slices.Clone(want), c.mean)
		if c.name == "named" {
			lines[0], lines[1] = strings.Replace(lines[0], "0", "0 a", 1), strings.Replace(lines[1], "1", "1 b&lt;", 1)
		}
		if !slices.Equal(rows, lines) || rest != nil {
			t.Errorf("%s: %q and %q, want %q", c.name, rows, rest, lines)
		}
		if !strings.Contains(p.text, "by the weights of epoch 8.") {
			t.Errorf("%s: it does not say by which weights", c.name)
		}
		text := p.figures["confusion"].text
		if (text != "") != c.matrix {
			t.Errorf("%s: matrix %.80s", c.name, text)
		}
		if says := "2 of 4 of class 0 predicted as 1<"; c.name == "one label" && (!strings.Contains(text, says) || strings.Count(text, `class="inside"`) != 3 || !strings.Contains(text, `fill-opacity="0.325"`)) {
			t.Errorf("%s: %s", c.name, text)
		}
		if c.name == "named" && !strings.Contains(text, "2 of 4 of class 0 a predicted as 1 b&lt;") {
			t.Errorf("%s: %s", c.name, text)
		}
	}
	if rows, _ := rowsOf(t, pageOf(t, sampleRun(t, 5, false)).text, "by-class"); rows != nil {
		t.Errorf("a run without scores by class has %q", rows)
	}
	if rows, _ := rowsOf(t, pageOf(t, classesRun(t, `{"test_by_class":[{"class":0,"support":3,"precision":1,"recall":1,"f1":1}],"test_confusion":{"classes":[0],"counts":[[3]]}}`)).text, "by-class"); len(rows) != 2 {
		t.Errorf("one class: %q", rows)
	}
}

// manyClasses is what a result says of 30 classes.
func manyClasses() string {
	var list, classes []string
	var counts []string
	for c := range 30 {
		list = append(list, fmt.Sprintf(`{"class":%d,"support":%d,"precision":1,"recall":1,"f1":1}`, c, 100+c))
		if c >= 10 {
			classes, counts = append(classes, fmt.Sprint(c)), append(counts, "["+strings.Join(slices.Repeat([]string{"5"}, 20), ",")+"]")
		}
	}
	return fmt.Sprintf(`{"test_by_class":[%s],"test_confusion":{"classes":[%s],"counts":[%s]}}`, strings.Join(list, ","), strings.Join(classes, ","), strings.Join(counts, ","))
}

// Of many classes the largest stand first, and all others can be unfolded; the matrix says how many it leaves out.
func TestManyClasses(t *testing.T) {
	p := pageOf(t, classesRun(t, manyClasses()))
	rows, rest := rowsOf(t, p.text, "by-class")
	if len(rows) != 21 || !strings.HasPrefix(rows[0], "29 | 129 |") || !strings.HasPrefix(rows[19], "10 |") || rows[20] != "mean | 3,435 | 1.0000 | 1.0000 | 1.0000" || len(rest) != 10 || !strings.HasPrefix(rest[9], "0 | 100") {
		t.Errorf("rows %q and %q", rows, rest)
	}
	if text := p.figures["confusion"].text; !strings.Contains(text, "the 20 largest classes") || !strings.Contains(text, ">10</text>") || !strings.Contains(text, "5 of 129 of class 29 predicted as 10<") {
		t.Errorf("matrix: %.2000s", text)
	}
}
