package term

import (
	"bytes"
	"context"
	"errors"
	"io"
	"strings"
	"testing"
	"time"
)

// Large files and arrays get a bar on a terminal and lines elsewhere, quiet ones nothing; a context that ends stops it.
func TestDataWatch(t *testing.T) {
	for _, c := range []struct {
		terminal, quiet bool
		want            []string
	}{{true, false, []string{"read x.npy", "50 %"}}, {false, false, []string{"read x.npy 1.0 MiB of 2.0 MiB\n"}}, {false, true, nil}, {true, true, nil}} {
		var out bytes.Buffer
		w := &DataWatch{Ctx: t.Context(), Console: &Console{Err: &out, Terminal: c.terminal, Quiet: c.quiet}, Verb: "read"}
		for _, done := range []int64{0, 1 << 20, 2 << 20} {
			if err := w.At("x.npy", done, 2<<20); err != nil {
				t.Fatal(err)
			}
			w.bar.since = time.Now().Add(-time.Hour)
		}
		if err := w.At("y.npy", 100, 100); err != nil {
			t.Fatal(err)
		}
		w.End()
		got := out.String()
		if len(c.want) == 0 && got != "" || strings.Contains(got, "y.npy") {
			t.Errorf("%+v: printed %q", c, got)
		}
		for _, want := range c.want {
			if !strings.Contains(strings.ReplaceAll(got, "50%", "50 %"), want) {
				t.Errorf("%+v: %q lacks %q", c, got, want)
			}
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	w := &DataWatch{Ctx: ctx, Console: &Console{Err: io.Discard, Quiet: true}}
	if err := w.At("x", 1, 2); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
}
