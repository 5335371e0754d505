package report

import (
	"bytes"
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"
)

// componentsRun returns a run with points of so many classes; class c has c%7+1 of them for each 1 that times says.
func componentsRun(t testing.TB, classes, times int) Run {
	t.Helper()
	r := sampleRun(t, 12, false)
	draw := rand.New(rand.NewPCG(1, 2))
	layer, epoch := 0, 8
	c := &Components{Dataset: "cora", Weights: "model.safetensors", Epoch: &epoch, Layer: &layer, Vertices: 100000, Variance: [2]float64{0.41, 0.2}, Class: []int{}}
	for class := range classes {
		r.Result.Classes = append(r.Result.Classes, fmt.Sprintf("name<i>%d", class))
		for range (class%7 + 1) * times {
			angle := 2 * math.Pi * float64(class) / float64(classes)
			c.X, c.Y = append(c.X, 9*math.Cos(angle)+draw.NormFloat64()), append(c.Y, 5*math.Sin(angle)+draw.NormFloat64())
			c.Class = append(c.Class, class)
		}
	}
	r.Components = c
	return r
}

// Every point lies in the picture, at its place on both axes, in the group of its class, which has a mark of its own up to the number of marks.
func TestScatter(t *testing.T) {
	for _, classes := range []int{1, 2, 8, 47, 56, 60} {
		r := componentsRun(t, classes, 2)
		r.Components.Class[0] = -1
		s := r.componentScatter()
		marks, drawn := map[string]bool{}, 0
		for _, g := range s.Groups {
			if g.number >= 0 && marks[g.Colour+g.Shape] {
				t.Errorf("%d classes: two groups are marked %s %s", classes, g.Colour, g.Shape)
			}
			marks[g.Colour+g.Shape] = true
			pieces := strings.Split(g.Path, strings.TrimPrefix(g.Shape, "M0 0"))
			for k, i := range g.points {
				var px, py float64
				if _, err := fmt.Sscanf(pieces[k], "M%f %f", &px, &py); err != nil {
					t.Fatal(err, pieces[k])
				}
				c := r.Components
				if math.Abs(px-s.X.Place(c.X[i])) > 0.06 || math.Abs(py-s.Y.Place(c.Y[i])) > 0.06 || px < marginLeft || px > chartWidth-marginRight || py < scatterTop || py > s.Y.From {
					t.Errorf("point %d is at %v, %v", i, px, py)
				}
				if g.number >= 0 && c.Class[i] != g.number {
					t.Errorf("point %d of class %d is in group %d", i, c.Class[i], g.number)
				}
				drawn++
			}
		}
		if drawn != len(r.Components.X) {
			t.Errorf("%d classes: %d of %d points", classes, drawn, len(r.Components.X))
		}
		if a, b := (s.X.To-s.X.From)/(s.X.Hi-s.X.Lo), (s.Y.From-s.Y.To)/(s.Y.Hi-s.Y.Lo); math.Abs(a-b) > 1e-9*a {
			t.Errorf("a unit is %v and %v long", a, b)
		}
		if want := min(classes, 56); len(s.Legend) < want || len(s.Legend) > want+1 {
			t.Errorf("%d classes: %d entries", classes, len(s.Legend))
		}
		last := s.Legend[len(s.Legend)-1].Name
		if want := "no label (1)"; classes < 56 && classes > 1 && last != want {
			t.Errorf("%d classes: the last entry is %q, want %q", classes, last, want)
		}
		if classes == 60 && !strings.HasPrefix(last, "4 other groups (") {
			t.Errorf("the last entry is %q", last)
		}
	}
}

// Points on a line, of one place, of one axis and far away are drawn; what is no number never is.
func TestScatterOfFewPlaces(t *testing.T) {
	for name, at := range map[string][2][]float64{"line": {{0, 1, 2}, {0, 0, 0}}, "upright": {{0, 0, 0}, {1, 2, 3}}, "place": {{1, 1}, {2, 2}}, "one": {{0}, {0}}, "far": {{1e30, -1e30}, {1e30, 1e30}}, "near": {{1e-300, 0}, {0, 1e-300}}} {
		r := sampleRun(t, 3, false)
		r.Result = nil
		r.Components = &Components{X: at[0], Y: at[1], Several: true, Vertices: len(at[0])}
		p := pageOf(t, r)
		if f := p.figures["components"]; f.kind != "data-scatter" || len(f.paths) != 1 || strings.Contains(f.text, "NaN") || strings.Contains(f.text, "Inf") || !strings.Contains(f.text, "several labels") {
			t.Errorf("%s: %.600s", name, f.text)
		}
	}
}

func TestComponentSection(t *testing.T) {
	r := componentsRun(t, 47, 2)
	p := pageOf(t, r)
	for _, want := range []string{"The rows of hidden layer 0 of ", " of 100,000 along their first two principal components, by the weights of model.safetensors (epoch 8).", "41.0\u00a0% of the variance", "3 name&lt;i&gt;3 (8)"} {
		if !strings.Contains(p.text, want) {
			t.Errorf("the page does not say %q", want)
		}
	}
	if strings.Contains(p.text, "<i>3") {
		t.Error("a name is no text")
	}
	r.Components = &Components{}
	if _, ok := r.componentSection(); ok {
		t.Error("no points are drawn")
	}
	if len(pageOf(t, componentsRun(t, 47, 10)).text) > 400<<10 {
		t.Error("the page is large")
	}
}

func TestReadComponents(t *testing.T) {
	if c, err := ReadComponents(strings.NewReader(`{"x":[1,2],"y":[3,4],"class":null,"variance":[0.5,0.25],"new":{}}`)); err != nil || c.Y[1] != 4 || c.Class != nil {
		t.Errorf("%+v, %v", c, err)
	}
	for _, text := range []string{``, `[]`, `{"x":[1],"y":[]}`, `{"x":[1],"y":[2],"class":[]}`, `{"x":[1e31],"y":[2]}`, `{"x":["a"],"y":[2]}`, string(bytes.Repeat([]byte{' '}, 2<<20))} {
		if _, err := ReadComponents(strings.NewReader(text)); err == nil {
			t.Errorf("%.40q is read", text)
		}
	}
}
