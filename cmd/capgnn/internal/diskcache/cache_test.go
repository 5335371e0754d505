package diskcache

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"capgnn/cmd/capgnn/internal/term"
	"capgnn/graph/synth"
	"capgnn/internal/learn"
	"capgnn/pipeline"
)

// notedCache is a cache in a new folder that keeps anything; its notes are in the slice.
func notedCache(t *testing.T, limit int64) (*Cache, *[]string) {
	var notes []string
	return &Cache{dir: t.TempDir(), limit: limit, note: func(format string, a ...any) { notes = append(notes, fmt.Sprintf(format, a...)) }}, &notes
}

// files returns the names in the cache's folder.
func (c *Cache) files(t *testing.T) []string {
	t.Helper()
	list, err := os.ReadDir(c.dir)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, e := range list {
		names = append(names, e.Name())
	}
	return names
}

func TestCache(t *testing.T) {
	c, notes := notedCache(t, 1<<20)
	if c.Get("a") != nil {
		t.Error("an empty cache has something")
	}
	p, want := pieces(1000, 64)
	c.Put("a", "things", p)
	if len(*notes) != 1 || !strings.Contains((*notes)[0], "things") {
		t.Errorf("notes %q", *notes)
	}
	got := c.Get("a")
	if got == nil {
		t.Fatal("what was put is not there")
	}
	for name, raw := range want {
		if !slices.Equal(got.Piece(name), raw) {
			t.Errorf("%s has other bytes", name)
		}
	}
	if got.Piece("none") != nil {
		t.Error("there is a piece that was not put")
	}
	got.Close()
	if c.Get("b") != nil {
		t.Error("another key is found")
	}
	other := *c
	other.program = "another build"
	if other.Get("a") != nil {
		t.Error("another program takes it")
	}
	path, _ := c.place("a")
	if err := os.Truncate(path, 500); err != nil {
		t.Fatal(err)
	}
	if *notes = nil; c.Get("a") != nil || len(*notes) != 1 || !strings.Contains((*notes)[0], path) {
		t.Errorf("a damaged file is taken, or not noted: %q", *notes)
	}
	c.Put("a", "things", p)
	if got = c.Get("a"); got == nil {
		t.Fatal("a damaged file is not replaced")
	}
	got.Close()
	c.least = 5000
	c.Put("small", "things", p)
	if c.Get("small") != nil {
		t.Error("what is not worth it is kept")
	}
	c.Put("broken", "things", []pipeline.Piece{{Name: "x", Size: 9000, Write: func(io.Writer) error { return errors.New("lost") }}})
	if names := c.files(t); len(names) != 1 {
		t.Errorf("a failed write leaves %q", names)
	}
}

// The limit is kept: what was used longest ago goes, and nothing that is larger than the limit is kept.
func TestCacheLimit(t *testing.T) {
	c, _ := notedCache(t, 10_000)
	p, _ := pieces(3000)
	put := func(key string, age time.Duration) {
		c.Put(key, "things", p)
		path, _ := c.place(key)
		then := time.Now().Add(-age)
		if err := os.Chtimes(path, then, then); err != nil {
			t.Fatal(err)
		}
	}
	put("a", 3*time.Hour)
	put("b", 2*time.Hour)
	put("c", time.Hour)
	if got := c.Get("a"); got != nil { // now b is the oldest
		got.Close()
	}
	stale := filepath.Join(c.dir, cachePrefix+"x.bin.tmp1")
	if err := os.WriteFile(stale, make([]byte, 500), 0o600); err != nil {
		t.Fatal(err)
	}
	old := time.Now().Add(-2 * staleAfter)
	if err := os.Chtimes(stale, old, old); err != nil {
		t.Fatal(err)
	}
	alien := filepath.Join(c.dir, "plan-1.bin")
	if err := os.WriteFile(alien, make([]byte, 50_000), 0o600); err != nil {
		t.Fatal(err)
	}
	put("d", 0)
	for key, want := range map[string]bool{"a": true, "b": false, "c": true, "d": true} {
		path, _ := c.place(key)
		if term.Exists(path) != want {
			t.Errorf("%s is there: %t", key, !want)
		}
	}
	if term.Exists(stale) || !term.Exists(alien) {
		t.Errorf("left are %q", c.files(t))
	}
	big, _ := pieces(20_000)
	c.Put("big", "things", big)
	if path, _ := c.place("big"); term.Exists(path) || len(c.files(t)) != 4 {
		t.Errorf("what is larger than the limit is kept or costs others their place: %q", c.files(t))
	}
}

func TestCacheLimitVariable(t *testing.T) {
	k := &term.Console{Err: io.Discard}
	t.Setenv("XDG_CACHE_HOME", t.TempDir())
	for text, want := range map[string]int64{"": defaultCacheLimit, "0": 0, "3GiB": 3 << 30} {
		t.Setenv(cacheLimit, text)
		c, err := Open(k)
		if err != nil || (c == nil) != (want == 0) || c != nil && c.limit != want {
			t.Errorf("%q: %+v, %v", text, c, err)
		}
	}
	t.Setenv(cacheLimit, "plenty")
	if _, err := Open(k); term.ExitCode(err) != 2 {
		t.Errorf("plenty: %v", err)
	}
}

// Sums are those of the content; they are computed again when a file changes in any way, and not remembered while it could
// still change unseen.
func TestRecall(t *testing.T) {
	c, _ := notedCache(t, 1<<20)
	dir := filepath.Join(t.TempDir(), "store")
	if err := os.Mkdir(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(dir, "x.npy")
	write := func(text string, age time.Duration) {
		t.Helper()
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		then := time.Now().Add(-age)
		if err := os.Chtimes(file, then, then); err != nil {
			t.Fatal(err)
		}
	}
	problem := func(seed uint64) *learn.Problem {
		g, err := synth.Random(50, 100, true, seed)
		if err != nil {
			t.Fatal(err)
		}
		return &learn.Problem{Graph: g, Features: learn.Features{Cols: 1, Dense: make([]float32, 50)}}
	}
	a, b := SumsOf(problem(1)), SumsOf(problem(2))
	if a.Graph == b.Graph || a.Features != b.Features || !a.sound() {
		t.Fatalf("sums %v and %v of two graphs with equal features", a, b)
	}
	// The future lies after the change of the file, whose time no program can set back.
	future := time.Now().Add(time.Hour)
	degrees := map[Sums][]int{a: CountDegrees(problem(1).Graph), b: CountDegrees(problem(2).Graph)}
	if slices.Equal(degrees[a], degrees[b]) {
		t.Fatalf("two graphs have the degrees %v", degrees[a])
	}
	check := func(what string, started time.Time, options string, p *learn.Problem, want Sums) {
		t.Helper()
		if got, counts := c.Recall(dir, options, started, p); got != want || !slices.Equal(counts, degrees[want]) {
			t.Errorf("%s: other sums or degrees than wanted", what)
		}
	}
	write("one", time.Hour)
	check("changed a moment ago", time.Now(), "", problem(1), a)
	if len(c.files(t)) != 0 {
		t.Error("what may still change unseen is remembered")
	}
	check("first", future, "", problem(1), a)
	check("remembered, whatever was read", future, "", problem(2), a)
	check("other options", future, "reversed", problem(2), b)
	write("two", time.Hour)
	check("changed file", future, "", problem(2), b)
	check("remembered again", future, "", problem(1), b)
	if err := os.WriteFile(filepath.Join(dir, "y.npy"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	check("new file", future, "", problem(1), a)
	for _, name := range c.files(t) {
		if err := os.WriteFile(filepath.Join(c.dir, name), []byte("{"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	check("damaged memory", future, "", problem(2), b)
	for _, name := range c.files(t) { // of another graph
		data, err := os.ReadFile(filepath.Join(c.dir, name))
		if err != nil {
			t.Fatal(err)
		}
		data = bytes.Replace(data, []byte(`"degrees":[`), []byte(`"degrees":[1,`), 1)
		if err := os.WriteFile(filepath.Join(c.dir, name), data, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	check("degrees of other vertices", future, "", problem(1), a)
	if got, _ := c.Recall(filepath.Join(dir, "x.npy"), "", future, problem(1)); got != a {
		t.Error("a file: other sums")
	}
	var none *Cache
	if got, counts := none.Recall(dir, "", future, problem(1)); got != a || !slices.Equal(counts, degrees[a]) {
		t.Error("without a cache: other sums or degrees")
	}
}
