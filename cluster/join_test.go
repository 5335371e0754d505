package cluster

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"reflect"
	"runtime"
	"strings"
	"testing"
)

// factsOf returns the facts of ranks that agree.
func factsOf(ranks int) []Facts {
	var out []Facts
	for r := range ranks {
		out = append(out, Facts{
			Protocol: Protocol, Version: "v1 abc", Ranks: ranks, Rank: r, Host: string(rune('a' + r)), Data: "d0", Plan: "p0", Layout: "l0",
			Options: map[string]string{"lr": "0.01", "epochs": "20", "devices": fmt.Sprint("cuda:", r), "dataset-path": fmt.Sprint("/data", r)}, Instructions: "avx2", Devices: 1 + r,
		})
	}
	return out
}

func TestCompare(t *testing.T) {
	option := func(f *Facts, name, value string) {
		f.Options = maps.Clone(f.Options)
		f.Options[name] = value
	}
	for _, tc := range []struct {
		name   string
		change func(f []Facts)
		want   string
	}{
		{"none", func(f []Facts) {}, ""},
		{"what may differ", func(f []Facts) {
			for _, name := range []string{"dataset", "dataset-path", "devices", "profile", "run-dir"} {
				option(&f[1], name, "other")
			}
			f[2].Instructions = "avx512"
		}, ""},
		{"protocol", func(f []Facts) { f[2].Protocol = 7 }, "protocol of rank 2 (host c) is 7, of rank 0 (host a) it is 1: start the same program on all machines"},
		{"version", func(f []Facts) { f[1].Version = "v2" }, "version of rank 1 (host b) is v2, of rank 0 (host a) it is v1 abc: start the same program"},
		{"size", func(f []Facts) { f[1].Ranks = 4 }, "number of ranks of rank 1 (host b) is 4, of rank 0 (host a) it is 3"},
		{"data", func(f []Facts) { f[2].Data = "d1" }, "SHA-256 of the data set of rank 2 (host c) is d1, of rank 0 (host a) it is d0: copy the data set"},
		{"option", func(f []Facts) { option(&f[1], "lr", "0.02") }, "--lr of rank 1 (host b) is 0.02, of rank 0 (host a) it is 0.01: start all ranks with the same options"},
		{"first option by name", func(f []Facts) { option(&f[1], "lr", "0.02"); option(&f[2], "epochs", "") }, `--epochs of rank 2 (host c) is "", of rank 0 (host a) it is 20`},
		{"option of one", func(f []Facts) { option(&f[2], "new", "1") }, "--new of rank 2 (host c) is 1, of rank 0 (host a) it is not known"},
		{"option of rank 0", func(f []Facts) { option(&f[0], "new", "1") }, "--new of rank 1 (host b) is not known, of rank 0 (host a) it is 1"},
		{"plan", func(f []Facts) { f[1].Plan = "p1" }, "plan of rank 1 (host b) is p1"},
		{"layout", func(f []Facts) { f[1].Layout = "" }, `layout of rank 1 (host b) is "", of rank 0 (host a) it is l0`},
		{"version before data", func(f []Facts) { f[1].Data, f[2].Version = "d1", "v2" }, "version of rank 2 (host c)"},
		{"twice", func(f []Facts) { f[2].Rank = 1 }, "rank 1 is on host b and again on host c: give each process a rank of its own"},
		{"twice on a host", func(f []Facts) { f[2].Rank, f[2].Host = 1, "b" }, "rank 1 is on host b and again on host b"},
		{"no device", func(f []Facts) { f[1].Devices = 0 }, "rank 1 (host b) has no device: name one with --devices, or leave the machine out"},
		{"a value with a line end", func(f []Facts) { option(&f[1], "lr", "a\nb\x1b[2J") }, `--lr of rank 1 (host b) is "a\nb\x1b[2J", of`},
		{"a long value", func(f []Facts) { option(&f[1], "lr", strings.Repeat("9", 1e5)) }, "is " + strings.Repeat("9", 60) + "…, of"},
		{"a host of escapes", func(f []Facts) { f[1].Host = "b\r"; f[1].Data = "x" }, `rank 1 (host "b\r") is x`},
	} {
		f := factsOf(3)
		tc.change(f)
		err := Compare(f)
		if (err == nil) != (tc.want == "") || err != nil && (!strings.Contains(err.Error(), tc.want) || strings.ContainsAny(err.Error(), "\n\r\x1b")) {
			t.Errorf("%s: %v, want %q", tc.name, err, tc.want)
		}
		for range 5 { // whoever came first
			rand.Shuffle(len(f), func(i, j int) { f[i], f[j] = f[j], f[i] })
			if again := Compare(f); fmt.Sprint(again) != fmt.Sprint(err) {
				t.Errorf("%s: %v, and in another order %v", tc.name, err, again)
			}
		}
	}
	if err := Compare(nil); err != nil {
		t.Error(err)
	}
}

func TestWarnings(t *testing.T) {
	f := factsOf(3)
	if got := Warnings(f); got != nil {
		t.Errorf("%q", got)
	}
	f[2].Instructions = "avx512"
	f[0], f[2] = f[2], f[0]
	const want = "rank 2 (host c) computes with avx512, rank 0 (host a) with avx2: results equal those of other machines to rounding, not to the bit"
	if got := Warnings(f); len(got) != 1 || got[0] != want {
		t.Errorf("%q, want %q", got, want)
	}
}

func TestFactsRoundTrip(t *testing.T) {
	for _, f := range factsOf(3) {
		text, err := f.Encode()
		if err != nil {
			t.Fatal(err)
		}
		if got, err := DecodeFacts(text); err != nil || !reflect.DeepEqual(got, f) {
			t.Errorf("%+v, %v, want %+v", got, err, f)
		}
	}
	for name, change := range map[string]func(*Facts){
		"rank": func(f *Facts) { f.Rank = 1 }, "size": func(f *Facts) { f.Ranks = MaxRanks + 1 }, "devices": func(f *Facts) { f.Devices = -1 },
		"text": func(f *Facts) { f.Host = "\xff" }, "length": func(f *Facts) { f.Options = map[string]string{"a": strings.Repeat("x", maxFactText+1)} },
	} {
		f := factsOf(1)[0]
		change(&f)
		if _, err := f.Encode(); err == nil {
			t.Errorf("%s was encoded", name)
		}
	}
	const good = `{"protocol":1,"ranks":2,"rank":1}`
	if _, err := DecodeFacts([]byte(good)); err != nil {
		t.Error(err)
	}
	for text, says := range map[string]string{
		"": "EOF", "{": "EOF", "[]": "cannot unmarshal", good + good: "something follows", good + "x": "something follows",
		`{"protocol":1,"ranks":2,"rank":2}`:                                     "rank 2 of 2",
		`{"protocol":1,"ranks":99999}`:                                          "99999 ranks",
		`{"protocol":1,"ranks":2,"rank":1,"gift":1}`:                            "unknown field",
		`{"protocol":1,"ranks":2,"rank":1e99}`:                                  "cannot unmarshal",
		`{"options":` + strings.Repeat("[", 33) + strings.Repeat("]", 33) + `}`: "deeper than 32",
		`{"version":"` + strings.Repeat("x", maxFacts) + `"}`:                   "bytes of JSON",
		`{"ranks":2,"rank":1,"options":{` + manyOptions(1025) + `}}`:            "1025 options",
	} {
		if _, err := DecodeFacts([]byte(text)); err == nil || !strings.Contains(err.Error(), says) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%.60s: %v, want %q", text, err, says)
		}
	}
}

// What a hostile rank sends costs about as much memory as it is long.
func TestHostileFacts(t *testing.T) {
	many := []byte(`{"ranks":2,"rank":1,"options":{` + manyOptions(5500) + `}}`)
	if len(many) > maxFacts || len(many) < maxFacts*3/4 {
		t.Fatalf("%d bytes", len(many))
	}
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	_, err := DecodeFacts(many)
	runtime.ReadMemStats(&after)
	if got := after.TotalAlloc - before.TotalAlloc; err == nil || got > 1<<20 {
		t.Errorf("%v, %d bytes were allocated for %d", err, got, len(many))
	}
}

func manyOptions(n int) string {
	var items []string
	for i := range n {
		items = append(items, fmt.Sprintf(`"o%d":""`, i))
	}
	return strings.Join(items, ",")
}

func FuzzFacts(f *testing.F) {
	text, _ := factsOf(2)[1].Encode()
	f.Add(text)
	f.Add([]byte(`{"protocol":1,"ranks":2,"rank":1}`))
	f.Add([]byte(`{"ranks":2,"options":{"a":"b"},"RANK":1}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		facts, err := DecodeFacts(text)
		if err != nil {
			return
		}
		again, err := facts.Encode()
		if err != nil {
			if len(text)*6 < maxFacts { // escapes are longer
				t.Fatal(err)
			}
			return
		}
		back, err := DecodeFacts(again)
		if err != nil || !reflect.DeepEqual(back, facts) {
			t.Errorf("%+v, %v, want %+v", back, err, facts)
		}
		if err := Compare(append(factsOf(2), facts)); err == nil || strings.ContainsAny(err.Error(), "\n\r\x1b") {
			t.Errorf("%v", err) // three of two ranks, so one is there twice
		}
	})
}
