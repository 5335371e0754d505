package formats

import (
	"context"
	"errors"
	"strings"
	"testing"

	"capgnn/graph/dataset"
	"capgnn/graph/dataset/internal/datatest"
)

// Wherever reading is stopped, whatever the format, the error is that of the watch.
func TestStopped(t *testing.T) {
	saint := putSaint(t, toySaint(t), nil)
	data, label := toyOGBArrays()
	for _, path := range []string{datatest.PutText(t, toyDGL(nil)), datatest.Put(t, ogbFolder(t, data, label)),
		put(t, toy()), datatest.NPZ(t, toyPairs()...), datatest.Put(t, toyOGB(t, nil)), saint} {
		told := map[string]bool{}
		if d, err := Load(path, dataset.Options{Watch: func(name string, done, total int64) error { told[name] = done == total; return nil }}); err != nil {
			t.Fatal(err)
		} else if d.Close(); len(told) < 2 {
			t.Errorf("%s: told of %v", path, told)
		}
		for name, whole := range told {
			if !whole {
				t.Errorf("%s: %s was not told to its end", path, name)
			}
		}
		if _, err := Load(path, dataset.Options{Watch: func(string, int64, int64) error { return context.Canceled }}); !errors.Is(err, context.Canceled) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%s: got %v", path, err)
		}
	}
}
