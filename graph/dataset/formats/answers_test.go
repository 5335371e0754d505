package formats

import (
	"fmt"
	"strings"
	"testing"

	"capgnn/graph/dataset"
	"capgnn/graph/dataset/internal/datatest"
)

// A note names the features that tell the label alone, and no others.
func TestAnswers(t *testing.T) {
	for _, c := range []struct {
		name     string
		vertices int
		value    func(v int) int // of the feature, where vertex v has label v%3
		want     bool
	}{
		{"the label in other words", 24, func(v int) int { return 7 - v%3 }, true},
		{"finer than the label", 24, func(v int) int { return v % 6 }, true},
		{"one vertex differs", 24, func(v int) int { return v % 3 * min(1, v-1) }, false},
		{"an id", 24, func(v int) int { return v }, false},
		{"a constant", 24, func(int) int { return 1 }, false},
		{"one class against the others", 24, func(v int) int { return v % 3 / 2 }, false},
		{"too few vertices", 18, func(v int) int { return v % 3 }, false},
	} {
		features, labels := "a,f\n", "y\n"
		for v := range c.vertices {
			features += fmt.Sprintf("%d,%d\n", v*v%5, c.value(v))
			labels += fmt.Sprintln(v % 3)
		}
		dir := datatest.Put(t, map[string][]byte{"edges.csv": []byte("0,1\n"), "features.csv": []byte(features), "labels.csv": []byte(labels)})
		d, err := Load(dir, dataset.Options{})
		if err != nil {
			t.Fatal(err)
		}
		notes := strings.Join(d.Notes, "\n")
		if strings.Contains(notes, "to tell the label") != c.want || c.want && !strings.Contains(notes, `features: column "f" is alone enough to tell`) {
			t.Errorf("%s: notes %s", c.name, notes)
		}
	}
}
