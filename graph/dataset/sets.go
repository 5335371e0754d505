package dataset

import (
	"fmt"
	"strconv"
	"strings"
)

// SettleSets completes what the files say of training, validation and test vertices. Sets that overlap are refused,
// unless Options.AllowOverlap takes them. Where there are validation or test vertices and no training set, all other
// labelled vertices train. Where there is no set, Options.Draw draws all three.
func (d *Dataset) SettleSets(opt Options) error {
	if opt.SetsAsGiven {
		return nil
	}
	if overlap := d.overlap(); overlap != "" && !opt.AllowOverlap {
		return fmt.Errorf("%s: keep each vertex in one set, or take the sets as they are with --allow-overlap", overlap)
	} else if overlap != "" {
		d.Note("%s: they are taken as they are only with --allow-overlap", overlap)
	}
	given := d.Train != nil || holds(d.Val) || holds(d.Test)
	switch {
	case given && opt.Draw != nil && opt.Draw.Asked:
		return fmt.Errorf("the data set has a split of its own (%s): drop --split", strings.Join(d.given(), ", "))
	case d.Train != nil:
	case given:
		d.trainRest()
	case opt.Draw != nil && (opt.Draw.Asked || opt.Standardises() || d.labelled()):
		return d.draw(opt.Draw)
	}
	return nil
}

// labelled reports whether there is something to learn.
func (d *Dataset) labelled() bool { return d.Labels != nil || d.Targets != nil }

// holds reports whether a mask has a vertex.
func holds(mask []bool) bool {
	for _, in := range mask {
		if in {
			return true
		}
	}
	return false
}

// given lists the masks that are there.
func (d *Dataset) given() (keys []string) {
	for _, m := range d.Masks() {
		if *m.Of != nil {
			keys = append(keys, m.Key)
		}
	}
	return keys
}

// overlap says how many vertices are in two sets, and names the first; "" none.
func (d *Dataset) overlap() string {
	first, count := -1, [3]int{}
	pairs := [3]struct {
		a, b []bool
		name string
	}{
		{d.Train, d.Val, "training and validation"}, {d.Train, d.Test, "training and test"}, {d.Val, d.Test, "validation and test"},
	}
	for i, p := range pairs {
		if p.a == nil || p.b == nil {
			continue
		}
		for v, in := range p.a {
			if !in || !p.b[v] {
				continue
			}
			if count[i]++; first < 0 || v < first {
				first = v
			}
		}
	}
	if first < 0 {
		return ""
	}
	var parts []string
	for i, p := range pairs {
		if count[i] > 0 {
			parts = append(parts, fmt.Sprintf("%d in %s", count[i], p.name))
		}
	}
	name := d.ID(first)
	if d.VertexNames != nil {
		name = strconv.Quote(name)
	}
	return fmt.Sprintf("vertices are in two sets: %s; the first is vertex %.80s", strings.Join(parts, ", "), name)
}

// trainRest makes the labelled vertices that neither validate nor test the training set.
func (d *Dataset) trainRest() {
	if !d.labelled() {
		return
	}
	d.TrainsRest, d.Train = true, make([]bool, d.Graph.Rows())
	count := 0
	for v := range d.Train {
		taken := d.Val != nil && d.Val[v] || d.Test != nil && d.Test[v]
		if !taken && (d.Labels == nil || d.Labels[v] >= 0) {
			d.Train[v] = true
			count++
		}
	}
	others := "validation and test sets"
	switch {
	case d.Val == nil:
		others = "test set"
	case d.Test == nil:
		others = "validation set"
	}
	if count == 0 {
		d.Note("there is no training set, and every labelled vertex is in the %s: none is left to train", others)
		return
	}
	d.Note("there is no training set: training takes the labelled vertices outside the %s (%d)", others, count)
}

// draw draws all three sets.
func (d *Dataset) draw(w *Draw) error {
	n := d.Graph.Rows()
	if w.By != ByShares && d.Labels == nil {
		what := "it has no labels"
		if d.Targets != nil {
			what = "its vertices have several labels each"
		}
		return fmt.Errorf("--split %s draws by class, and %s: give shares alone, such as --split 0.7,0.2,0.1", w.Text, what)
	}
	masks, few, err := w.split(n, d.Labels, d.Classes)
	if err != nil {
		return err
	}
	d.Train, d.Val, d.Test, d.Drawn = masks[0], masks[1], masks[2], true
	if len(few) > 0 {
		d.Note("--split %s: too few vertices in %s: half of each train", w.Text, d.classes(few))
	}
	return nil
}

// classes names some classes.
func (d *Dataset) classes(some []int) string {
	const most = 5
	var names []string
	for _, c := range some[:min(len(some), most)] {
		if d.ClassNames != nil {
			names = append(names, fmt.Sprintf("%.40q", d.ClassNames[c]))
		} else {
			names = append(names, strconv.Itoa(c))
		}
	}
	text := "classes " + strings.Join(names, ", ")
	if len(some) == 1 {
		text = "class " + names[0]
	}
	if more := len(some) - most; more > 0 {
		text += fmt.Sprintf(" and %d more", more)
	}
	return text
}
