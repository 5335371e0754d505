package report

import (
	"math"
	"strings"
	"testing"
)

// The data set is drawn by class and split, of many classes the largest, and by degree on logarithmic scales.
func TestDataSet(t *testing.T) {
	p := pageOf(t, classesRun(t, `{"class_names":["a","b<","c"],"data":{"in_degrees":[3,1,100,0,1000],"class_sizes":{"train":[5,0,2],"val":[1,0,0],"test":[2,0,1],"none":[0,4,0]}}}`))
	for _, want := range []string{"<span>0 a</span><span>8</span>", "<span>1 b&lt;</span><span>4</span>", "<span>2 c</span><span>3</span>", `width: 62.500%" title="training 5"`, `title="in no split 4"`} {
		if !strings.Contains(p.figures["class-sizes"].text, want) {
			t.Errorf("classes: no %q in %s", want, p.figures["class-sizes"].text)
		}
	}
	text := p.figures["degrees"].text
	for _, want := range []string{">degree 0: 3<", ">degree 1: 1<", ">degree 2 to 3: 100<", ">degree 8 to 15: 1,000<", ">8</text>"} {
		if !strings.Contains(text, want) {
			t.Errorf("degrees: no %q in %s", want, text)
		}
	}
	many := pageOf(t, classesRun(t, `{"data":{"in_degrees":[],"class_sizes":{"train":[`+strings.Repeat("7,", 24)+`9]}}}`))
	if text := many.figures["class-sizes"].text; strings.Count(text, `class="bar"`) != shownClasses || !strings.Contains(text, "the 20 largest of 25 classes; the smallest has 7 vertices") || strings.Index(text, "<span>24<") > strings.Index(text, "<span>0<") {
		t.Errorf("many classes: %.900s", text)
	}
	if many.figures["degrees"].text != "" || strings.Contains(pageOf(t, sampleRun(t, 5, false)).text, "Data set</h2>") {
		t.Error("what is not known is drawn")
	}
}

// Bars stand on the axis, as high as the logarithm of their counts; one vertex is seen, none is not, and texts do not overlap.
func TestDegreeHistogram(t *testing.T) {
	for _, counts := range [][]int{{1}, {0, 1}, {5, 0, 1, 10}, {0, 1e9, 12, 3e5, 100, 1}, make([]int, 33), make([]int, maxBins)} {
		if counts[len(counts)-1] == 0 {
			for k := range counts {
				counts[k] = 1 + k*k
			}
		}
		h := degreeHistogram(counts)
		end := 0.0
		for k, b := range h.Bins {
			switch x := counts[k]; {
			case x == 0 && b.Height != 0, x == 1 && b.Height != leastBar, x > 1 && math.Abs(b.Y-h.Y.Place(float64(x))) > leastBar, math.Abs(b.Y+b.Height-(chartHeight-marginBelow)) > 1e-9, b.Y < marginTop-1e-9, b.X+b.Width > chartWidth-marginRight+1e-9:
				t.Errorf("%v: bar %d is %+v", counts, k, b)
			}
			if half := float64(len(b.Below)) * 6 / 2; b.Below != "" {
				if b.Middle()-half < end {
					t.Errorf("%d bins: the text below bar %d begins at %v, the one before ends at %v", len(counts), k, b.Middle()-half, end)
				}
				end = b.Middle() + half
			}
		}
	}
	for _, counts := range [][]int{nil, {0, 0}, {1, -1}, make([]int, maxBins+1)} {
		if len(counts) > maxBins {
			counts[0] = 1
		}
		if degreeHistogram(counts) != nil {
			t.Errorf("%v was drawn", counts)
		}
	}
}
