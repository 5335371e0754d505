package fetch

import (
	"bytes"
	"context"
	"crypto/sha1"
	"encoding/hex"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"capgnn/graph/dataset"
	"capgnn/graph/dataset/formats"
	"capgnn/internal/published"
)

const testBytes = 300_000

func TestFetchBrokenConnections(t *testing.T) {
	content := noise(testBytes)
	for _, c := range []struct {
		name  string
		spoil func(m *mirror)
		set   func(m *mirror) Published
		opt   Options
		want  []string
	}{
		{name: "whole", want: []string{""}},
		{name: "cut twice", spoil: func(m *mirror) { m.cuts = []int64{100_000, 50_000} },
			want: []string{"", `bytes=100000- "one"`, `bytes=150000- "one"`}},
		{name: "no validator", spoil: func(m *mirror) { m.etag = ""; m.cuts = []int64{100_000} }, want: []string{"", "bytes=100000-"}},
		{name: "weak validator", spoil: func(m *mirror) { m.etag = `W/"one"`; m.cuts = []int64{100_000} }, want: []string{"", "bytes=100000-"}},
		{name: "no ranges", spoil: func(m *mirror) { m.plain, m.cuts = true, []int64{100_000} }, want: []string{"", `bytes=100000- "one"`}},
		{name: "busy", spoil: func(m *mirror) { m.status = []int{503, 429} }, want: []string{"", "", ""}},
		{name: "stalls", spoil: func(m *mirror) { m.cuts = []int64{-1000} }, opt: Options{Stall: 100 * time.Millisecond},
			want: []string{"", `bytes=1000- "one"`}},
		{name: "unknown size", set: unverified, spoil: func(m *mirror) { m.cuts = []int64{70_000} }, want: []string{"", `bytes=70000- "one"`}},
		{name: "redirected", set: func(m *mirror) Published { s := testSet(content, m); s.base += "/moved"; return s },
			spoil: func(m *mirror) { m.cuts = []int64{0, 90_000} }, want: []string{"", "", `bytes=90000- "one"`, `bytes=90000- "one"`}},
	} {
		t.Run(c.name, func(t *testing.T) {
			m := newMirror(t, content)
			set := testSet(content, m)
			if c.set != nil {
				set = c.set(m)
			}
			if c.spoil != nil {
				c.spoil(m)
			}
			root := t.TempDir()
			opt := quick
			opt.Stall = c.opt.Stall
			var done, total int64
			opt.Progress = func(d, all int64) { done, total = d, all }
			path, err := download(t.Context(), set, root, opt)
			if err != nil || path != filepath.Join(root, "set") {
				t.Fatalf("%q, %v", path, err)
			}
			wantContent(t, root, content)
			if got := m.requests(); !slices.Equal(got, c.want) {
				t.Errorf("requests %q, want %q", got, c.want)
			}
			if done != testBytes || total != testBytes {
				t.Errorf("progress ended with %d of %d", done, total)
			}
		})
	}
}

// A fetch that ended early leaves NAME.part, and the next one goes on there, unless the server has another file now.
func TestFetchResumes(t *testing.T) {
	content, newer := noise(testBytes), noise(testBytes+1)
	for _, c := range []struct {
		name  string
		set   func(m *mirror) Published
		after func(m *mirror)
		want  []string
		got   []byte
	}{
		{name: "same", want: []string{`bytes=100000- "one"`}, got: content},
		{name: "unknown size", set: unverified, want: []string{`bytes=100000- "one"`}, got: content},
		{name: "newer", set: unverified, after: func(m *mirror) { m.body, m.etag = newer, `"two"` }, want: []string{`bytes=100000- "one"`}, got: newer},
		{name: "newer without validator", set: func(m *mirror) Published { m.etag = ""; return unverified(m) }, after: func(m *mirror) { m.body = newer },
			want: []string{"bytes=100000-", ""}, got: newer},
		{name: "shorter", set: func(m *mirror) Published { m.etag = ""; return unverified(m) }, after: func(m *mirror) { m.body = newer[:1000] },
			want: []string{"bytes=100000-", ""}, got: newer[:1000]},
	} {
		t.Run(c.name, func(t *testing.T) {
			m := newMirror(t, content)
			set := testSet(content, m)
			if c.set != nil {
				set = c.set(m)
			}
			m.cuts = []int64{100_000}
			root := t.TempDir()
			if _, err := download(t.Context(), set, root, Options{}); err == nil {
				t.Fatal("a broken connection is no error")
			}
			if names := fileNames(t, root); !slices.Equal(names, []string{"set.part"}) {
				t.Fatalf("left %v", names)
			}
			m.requests()
			if c.after != nil {
				c.after(m)
			}
			if _, err := download(t.Context(), set, root, Options{}); err != nil {
				t.Fatal(err)
			}
			wantContent(t, root, c.got)
			if got := m.requests(); !slices.Equal(got, c.want) {
				t.Errorf("requests %q, want %q", got, c.want)
			}
		})
	}
}

// What lay in NAME.part and is wrong is fetched again; nothing is asked for what is complete.
func TestFetchPartContent(t *testing.T) {
	content := noise(testBytes)
	for name, spoil := range map[string]func(b []byte) []byte{
		"spoiled":  func(b []byte) []byte { b[5] ^= 1; return b },
		"complete": func([]byte) []byte { return bytes.Clone(content) },
		"too long": func([]byte) []byte { return noise(testBytes + 9) },
	} {
		t.Run(name, func(t *testing.T) {
			m := newMirror(t, content)
			set := testSet(content, m)
			m.cuts = []int64{100_000}
			root := t.TempDir()
			if _, err := download(t.Context(), set, root, Options{}); err == nil {
				t.Fatal("a broken connection is no error")
			}
			m.requests()
			file := filepath.Join(root, "set.part", "download", "set.npz")
			b, err := os.ReadFile(file)
			if err != nil || len(b) != 100_000 {
				t.Fatalf("%d bytes, %v", len(b), err)
			}
			if err := os.WriteFile(file, spoil(b), 0o644); err != nil {
				t.Fatal(err)
			}
			if _, err := download(t.Context(), set, root, Options{}); err != nil {
				t.Fatal(err)
			}
			wantContent(t, root, content)
			want := map[string]int{"spoiled": 2, "complete": 0, "too long": 1}[name]
			if got := m.requests(); len(got) != want {
				t.Errorf("requests %q, want %d", got, want)
			}
		})
	}
}

func TestFetchGitID(t *testing.T) {
	content := noise(testBytes)
	m := newMirror(t, content)
	sum := sha1.Sum(append(fmt.Appendf(nil, "blob %d\x00", len(content)), content...))
	set := unverified(m)
	set.files[0].blob = hex.EncodeToString(sum[:])
	root := t.TempDir()
	if _, err := download(t.Context(), set, root, Options{}); err != nil {
		t.Fatal(err)
	}
	wantContent(t, root, content)
}

// The default client takes the proxy that it is given, and leaves no encrypted connection for a plain one.
func TestFetchDefaultClient(t *testing.T) {
	content := noise(testBytes)
	m := newMirror(t, content)
	proxy, err := url.Parse(m.URL)
	if err != nil {
		t.Fatal(err)
	}
	set := testSet(content, m)
	set.base = "http://mirror.invalid/data"
	root := t.TempDir()
	var through []string
	opt := Options{Proxy: func(r *http.Request) (*url.URL, error) { through = append(through, r.URL.String()); return proxy, nil }}
	if _, err := download(t.Context(), set, root, opt); err != nil {
		t.Fatal(err)
	}
	wantContent(t, root, content)
	if !slices.Equal(through, []string{"http://mirror.invalid/data/set.npz"}) {
		t.Errorf("through the proxy went %q", through)
	}
	request := func(scheme string) *http.Request {
		return &http.Request{URL: &url.URL{Scheme: scheme, Host: "host"}}
	}
	follow := defaultClient(nil).CheckRedirect
	for _, c := range []struct {
		from, to string
		follows  bool
	}{{"https", "https", true}, {"http", "https", true}, {"http", "http", true}, {"https", "http", false}} {
		if err := follow(request(c.to), []*http.Request{request(c.from)}); (err == nil) != c.follows {
			t.Errorf("%s to %s: %v", c.from, c.to, err)
		}
	}
}

func TestFetchCancelled(t *testing.T) {
	content := noise(testBytes)
	m := newMirror(t, content)
	m.cuts = []int64{-100_000} // and nothing more comes
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	root := t.TempDir()
	opt := quick
	opt.Progress = func(done, _ int64) {
		if done == 100_000 {
			cancel()
		}
	}
	if _, err := download(ctx, testSet(content, m), root, opt); !errors.Is(err, context.Canceled) {
		t.Fatalf("got %v", err)
	}
	if names := fileNames(t, root); !slices.Equal(names, []string{"set.part"}) {
		t.Fatalf("left %v", names)
	}
	if _, err := download(t.Context(), testSet(content, m), root, Options{}); err != nil {
		t.Fatal(err)
	}
	wantContent(t, root, content)
	if got := m.requests(); !slices.Equal(got, []string{"", `bytes=100000- "one"`}) {
		t.Errorf("requests %q", got)
	}
}

func TestFetchFullDisk(t *testing.T) {
	content := noise(testBytes)
	m := newMirror(t, content)
	root := t.TempDir()
	opt := quick
	opt.create = onDisk(120_000)
	_, err := download(t.Context(), testSet(content, m), root, opt)
	if !errors.Is(err, syscall.ENOSPC) || !strings.Contains(err.Error(), "free some space") || strings.Contains(err.Error(), "\n") {
		t.Errorf("got %v", err)
	}
	if names := fileNames(t, root); !slices.Equal(names, []string{"set.part"}) {
		t.Fatalf("left %v", names)
	}
	if _, err := download(t.Context(), testSet(content, m), root, Options{}); err != nil {
		t.Fatal(err)
	}
	wantContent(t, root, content)
	if got := m.requests(); !slices.Equal(got, []string{"", `bytes=120000- "one"`}) {
		t.Errorf("requests %q", got)
	}
}

// Two at once do not mix: the second one is told.
func TestFetchLocked(t *testing.T) {
	root := t.TempDir()
	part := filepath.Join(root, "set.part")
	if err := os.Mkdir(part, 0o755); err != nil {
		t.Fatal(err)
	}
	unlock, err := lockFolder(part)
	if err != nil {
		t.Fatal(err)
	}
	m := newMirror(t, noise(100))
	if _, err := download(t.Context(), testSet(m.body, m), root, Options{}); err == nil || !strings.Contains(err.Error(), fmt.Sprintf("process %d on", os.Getpid())) {
		t.Errorf("got %v", err)
	}
	unlock()
	if _, err := download(t.Context(), testSet(m.body, m), root, Options{}); err != nil {
		t.Error(err)
	}
}

func TestFetch(t *testing.T) {
	real := published.Path(t, "planetoid_cora")
	spoiled := ""
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		b, err := os.ReadFile(filepath.Join(real, filepath.Base(r.URL.Path)))
		if err != nil || !strings.HasPrefix(r.URL.Path, "/data/") {
			http.NotFound(w, r)
			return
		}
		if spoiled == "flipped" && strings.HasSuffix(r.URL.Path, ".y") {
			b[100] ^= 1
		}
		if spoiled == "endless" {
			b = append(b, make([]byte, 1<<20)...)
		}
		w.Write(b)
	}))
	defer server.Close()
	root := filepath.Join(t.TempDir(), "data")
	for _, c := range []struct{ spoiled, base, want string }{
		{"", "/elsewhere", "404"}, {"flipped", "/data/", "ind.cora.y: is not the published file"}, {"endless", "/data", "257306 bytes"},
	} {
		spoiled = c.spoiled
		if _, err := Download(t.Context(), "planetoid_cora", root, Options{BaseURL: server.URL + c.base}); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: got %v, want %q", c.spoiled, err, c.want)
		}
		if left := fileNames(t, root); len(left) > 0 {
			t.Errorf("%s: left %v", c.spoiled, left)
		}
	}
	spoiled = ""
	late, cancel := context.WithTimeout(t.Context(), time.Nanosecond)
	defer cancel()
	if _, err := Download(late, "planetoid_cora", root, Options{BaseURL: server.URL + "/data"}); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("got %v, want a deadline", err)
	}
	var done, total int64
	path, err := Download(t.Context(), "planetoid_cora", root, Options{BaseURL: server.URL + "/data", Progress: func(d, all int64) { done, total = d, all }})
	if err != nil || done != total || total != 572444 {
		t.Fatalf("%s, %v: %d of %d bytes, want 572444", path, err, done, total)
	}
	d, err := formats.Load(path, dataset.Options{})
	if err != nil || d.Graph.Rows() != 2708 || d.Name != "planetoid_cora" {
		t.Errorf("got %+v, %v", d, err)
	}
	server.Close()
	if again, err := Download(t.Context(), "planetoid_cora", root, Options{BaseURL: server.URL}); err != nil || again != path {
		t.Errorf("a second fetch: %q, %v", again, err)
	}
	if _, err := Download(t.Context(), "yelp", root, Options{}); err == nil {
		t.Error("yelp was fetched")
	}
}
