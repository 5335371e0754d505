package runfolder

import (
	"reflect"
	"slices"
	"strings"
	"testing"

	"capgnn/report"
)

// keysOf lists the keys of an object in JSON, with those of the objects in it behind a point.
func keysOf(t reflect.Type) []string {
	for t.Kind() == reflect.Pointer || t.Kind() == reflect.Slice {
		t = t.Elem()
	}
	var out []string
	if t.Kind() != reflect.Struct {
		return nil
	}
	for i := range t.NumField() {
		f := t.Field(i)
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		inner := keysOf(f.Type)
		if name == "" { // embedded: its keys stand beside
			out = append(out, inner...)
			continue
		}
		out = append(out, name)
		for _, k := range inner {
			out = append(out, name+"."+k)
		}
	}
	return out
}

// The page reads nothing that runs do not write: a key that is called otherwise here would be drawn no more, without an error.
func TestReportReadsWhatRunsWrite(t *testing.T) {
	for name, c := range map[string][]reflect.Type{
		"result.json":   {reflect.TypeFor[report.Result](), reflect.TypeFor[Result]()},
		"metrics.jsonl": {reflect.TypeFor[report.Epoch](), reflect.TypeFor[metricsLine](), reflect.TypeFor[sampledLine]()},
	} {
		read := keysOf(c[0])
		var written []string
		for _, line := range c[1:] {
			written = append(written, keysOf(line)...)
		}
		if len(read) < 10 || len(written) < len(read) {
			t.Errorf("%s: %d keys read, %d written", name, len(read), len(written))
		}
		for _, key := range read {
			if !slices.Contains(written, key) {
				t.Errorf("%s: the page reads %s, which no run writes", name, key)
			}
		}
	}
}
