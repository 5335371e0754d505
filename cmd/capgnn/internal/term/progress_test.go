package term

import (
	"bytes"
	"strings"
	"testing"
	"time"
)

// A clock that stands makes no rates.
func stopped() time.Time { return time.Unix(1, 0) }

func TestProgressWithoutATerminal(t *testing.T) {
	var out bytes.Buffer
	k := &Console{Out: &out, Err: &out}
	p := k.Begin("work", 200, "blocks", 0)
	p.now = stopped
	p.since = stopped()
	for i := range int64(200) {
		p.At(i+1, "x")
	}
	p.End()
	all := strings.Split(strings.TrimSpace(out.String()), "\n")
	if len(all) != lines || all[0] != "work 10/200  x" || all[lines-1] != "work 200/200  x" {
		t.Errorf("%d lines, want %d: %q", len(all), lines, all)
	}
	out.Reset()
	p = k.Begin("short", 10, "blocks", time.Hour)
	p.At(10, "")
	p.End()
	if out.Len() > 0 {
		t.Errorf("a short phase printed %q", out.String())
	}
	k.Quiet = true
	k.Note("note")
	k.Begin("work", 1, UnitShare, 0).At(1, "")
	if out.Len() > 0 {
		t.Errorf("--quiet printed %q", out.String())
	}
}

// A phase that begins in the middle, such as a resumed run, counts its rate from there.
func TestProgressOfAResumedPhase(t *testing.T) {
	var out bytes.Buffer
	k := &Console{Out: &out, Err: &out}
	p := k.Begin("train", 100, "epochs", 0)
	now := stopped()
	p.now, p.since = func() time.Time { return now }, now
	p.At(61, "loss 1")
	now = now.Add(10 * time.Second)
	p.At(81, "loss 0.5")
	p.At(41, "once more")
	now = now.Add(10 * time.Second)
	p.At(51, "")
	want := "train 61/100  loss 1\ntrain 81/100, 2.00 epochs/s, 10 s left  loss 0.5\ntrain 51/100, 1.00 epochs/s, 49 s left\n"
	if got := out.String(); got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestPace(t *testing.T) {
	for _, c := range []struct {
		unit                string
		done, total, gained int64
		took                time.Duration
		want                string
	}{
		{UnitBytes, 512, 2048, 0, time.Second, "512 B of 2.0 KiB"},
		{UnitBytes, 3 << 20, 5 << 20, 1 << 20, 2 * time.Second, "3.0 MiB of 5.0 MiB, 512 KiB/s, 4 s left"},
		{UnitBytes, 1 << 20, 0, 1 << 20, time.Second, "1.0 MiB, 1.0 MiB/s"},
		{UnitBytes, 1 << 30, 4 << 30, 1 << 20, time.Second, "1.0 GiB of 4.0 GiB, 1.0 MiB/s, 51m12s left"},
		{UnitShare, 250, 1000, 250, time.Minute, "25.0 %, 3m0s left"},
		{UnitShare, 0, 0, 0, time.Minute, "0.0 %"},
		{"epochs", 200, 200, 150, time.Minute, "200/200, 2.50 epochs/s"},
		{"epochs", 1, 200, 1, settled - 1, "1/200"},
	} {
		where, rest := Pace(c.unit, c.done, c.total, c.gained, c.took)
		if got := Sentence(where, ", ", rest); got != c.want {
			t.Errorf("got %q, want %q", got, c.want)
		}
	}
}

// A bar goes back where a phase turns out to have another part, and a share stands in it once.
func TestBarGoesBack(t *testing.T) {
	var out bytes.Buffer
	k := &Console{Out: &out, Err: &out, Terminal: true}
	p := k.Begin("profile", 1000, UnitShare, 0)
	now := stopped()
	p.now = func() time.Time { return now }
	for _, done := range []int64{500, 1000, 250} {
		now = now.Add(time.Second)
		p.since = now.Add(-time.Minute)
		p.At(done, "stage")
	}
	words := func(text string) string { return strings.Join(strings.Fields(text), " ") }
	if got, want := words(k.live[0]), words("profile 25% [====>               ] stage"); got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	k.colour = true
	p.draw("", "", "stage")
	if got := k.live[0]; !strings.Contains(got, "[\x1b[32m====>\x1b[0m ") {
		t.Errorf("got %q", got)
	}
	p.End()
	if len(k.live) != 0 || !strings.HasSuffix(out.String(), "\x1b[J") {
		t.Errorf("left %q", k.live)
	}
}
