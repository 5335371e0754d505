package dataset

import (
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
)

// TestStandardizeOtherFormats: the option works wherever there are dense rows and a train_mask, and says so elsewhere.
func TestStandardizeOtherFormats(t *testing.T) {
	all := tiny(t)
	dir := t.TempDir()
	for _, d := range all {
		if err := WriteStore(filepath.Join(dir, d.Name), d); err != nil {
			t.Fatal(err)
		}
	}
	d, err := Load(filepath.Join(dir, "dense"), Options{Standardize: StandardizeTrain})
	if err != nil {
		t.Fatal(err)
	}
	// The training rows are 0 1 and 2 3: mean 1 and 2, deviation 1.
	if want := []float32{-1, -1, 1, 1, 3, 3, 5, 5, 7, 7}; !slices.Equal(d.Features.Dense, want) || len(d.Notes) != 1 {
		t.Errorf("got %v, %q, want %v", d.Features.Dense, d.Notes, want)
	}
	d.Close()
	for _, o := range []string{"", Auto, StandardizeNone} {
		d, err := Load(filepath.Join(dir, "dense"), Options{Standardize: o})
		if err != nil || !reflect.DeepEqual(d.Features, all[0].Features) {
			t.Errorf("%q: got %v, %v", o, d, err)
			continue
		}
		d.Close()
	}
	for name, want := range map[string]string{"sparse": "has sparse features", "topology": "has no features"} {
		if _, err := Load(filepath.Join(dir, name), Options{Standardize: StandardizeTrain}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %v, want %q", name, err, want)
		}
	}
	noMask := *all[0]
	noMask.Name, noMask.Train = "nomask", nil
	if err := WriteStore(filepath.Join(dir, "nomask"), &noMask); err != nil {
		t.Fatal(err)
	}
	if _, err := Load(filepath.Join(dir, "nomask"), Options{Standardize: StandardizeTrain}); err == nil || !strings.Contains(err.Error(), "no train_mask") {
		t.Errorf("got %v", err)
	}
	if _, err := Load(filepath.Join(dir, "dense"), Options{Standardize: "all"}); err == nil || !strings.Contains(err.Error(), `standardize "all"`) {
		t.Errorf("got %v", err)
	}
}
