package main

import (
	"bytes"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"capgnn/cmd/capgnn/internal/datasets"
	"capgnn/cmd/capgnn/internal/term"
	"capgnn/internal/published"
)

// planetoidMirror serves Cora's published files under /data/, as a server that holds back what hold says.
type planetoidMirror struct {
	*httptest.Server
	mu   sync.Mutex
	hold string   // only the first half of this file comes
	asks []string // FILE and its Range
}

func newPlanetoidMirror(t *testing.T) *planetoidMirror {
	dir := published.Path(t, "planetoid_cora")
	m := &planetoidMirror{}
	m.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		name := filepath.Base(r.URL.Path)
		m.mu.Lock()
		hold := m.hold == name
		m.asks = append(m.asks, strings.TrimSpace(name+" "+r.Header.Get("Range")))
		m.mu.Unlock()
		body, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil || !strings.HasPrefix(r.URL.Path, "/data/") {
			http.NotFound(w, r)
			return
		}
		w.Header().Set("ETag", `"`+name+`"`)
		w.Header().Set("Content-Type", "application/octet-stream")
		if hold {
			if _, err := w.Write(body[:len(body)/2]); err == nil {
				w.(http.Flusher).Flush()
			}
			<-r.Context().Done()
			return
		}
		http.ServeContent(w, r, "", time.Time{}, bytes.NewReader(body))
	}))
	t.Cleanup(m.Close)
	t.Cleanup(m.CloseClientConnections)
	return m
}

func (m *planetoidMirror) set(hold string) (asked string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	asked = strings.Join(m.asks, "\n")
	m.hold, m.asks = hold, nil
	return asked
}

// Interrupted in the middle of a file, called again, read, and not overwritten.
func TestDataFetch(t *testing.T) {
	m := newPlanetoidMirror(t)
	s := newSandbox(t)
	m.set("ind.cora.tx")
	cmd := s.command("data", "fetch", "planetoid_cora", "--out", "sets", "--url", m.URL+"/data/")
	stderr, err := cmd.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	file := s.path("sets/planetoid_cora.part/download/ind.cora.tx")
	for deadline := time.Now().Add(20 * time.Second); ; time.Sleep(10 * time.Millisecond) {
		if info, err := os.Stat(file); err == nil && info.Size() == 148025/2 {
			break
		}
		if time.Now().After(deadline) {
			t.Fatal("half a file did not come within 20 s")
		}
	}
	if err := cmd.Process.Signal(os.Interrupt); err != nil {
		t.Fatal(err)
	}
	text, err := io.ReadAll(stderr)
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Wait(); cmd.ProcessState.ExitCode() != term.ExitInterrupted || !strings.Contains(string(text), "planetoid_cora.part; fetch again") {
		t.Errorf("%v: %s", err, text)
	}
	if term.Exists(s.path("sets/planetoid_cora")) {
		t.Error("an incomplete data set was placed")
	}
	if list := resultOf[dataList](t, s.listing("sets")); len(list.Found) != 0 {
		t.Errorf("what is being downloaded is listed: %+v", list.Found)
	}
	m.set("")
	f := resultOf[fetched](t, s.must("data", "fetch", "--json", "--quiet", "planetoid_cora", "--out", "sets", "--url", m.URL+"/data"))
	if f.Bytes != 572444 || f.Name != "planetoid_cora" || f.Path != filepath.Join("sets", "planetoid_cora") {
		t.Errorf("%+v", f)
	}
	if asked, want := m.set(""), "ind.cora.tx bytes=74012-\nind.cora.ty\nind.cora.x\nind.cora.y"; asked != want {
		t.Errorf("the second call asked for\n%s\nwant\n%s", asked, want)
	}
	if i := resultOf[datasets.Info](t, s.must("data", "info", "sets/planetoid_cora", "--json", "--quiet")); i.Vertices != 2708 || i.Edges != 10556 {
		t.Errorf("%+v", i)
	}
	s.fails(term.ExitUsage, []string{"is there already"}, "data", "fetch", "planetoid_cora", "--out", "sets", "--url", m.URL+"/data", "--quiet")
	if asked := m.set(""); asked != "" {
		t.Errorf("asked for %s", asked)
	}
}

// listing returns what `data list --json` prints of one folder.
func (s *sandbox) listing(root string) string {
	s.T.Helper()
	cmd := s.command("data", "list", "--json", "--quiet")
	cmd.Env = append(cmd.Env, "CAPGNN_DATA="+s.path(root))
	out, err := cmd.Output()
	if err != nil {
		s.T.Fatal(err)
	}
	return string(out)
}

func TestDataFetchRefuses(t *testing.T) {
	m := newPlanetoidMirror(t)
	s := newSandbox(t)
	for _, c := range []struct {
		code int
		want []string
		args []string
	}{
		{term.ExitUsage, []string{"nonsense", "planetoid_cora", "ogbn_products"}, []string{"nonsense"}},
		{term.ExitUsage, []string{"by hand", "drive.google.com", "adj_full.npz", filepath.Join("data", "capgnn", "yelp")}, []string{"yelp"}},
		{term.ExitUsage, []string{"--url", "https://"}, []string{"corafull", "--url", "ftp://host/x"}},
		{term.ExitUsage, []string{"give one NAME"}, nil},
		{term.ExitUsage, []string{"ok.npz"}, []string{"planetoid_cora", "--out", "ok.npz", "--url", m.URL + "/data"}},
		{term.ExitFailure, []string{"404", "ind.cora.allx"}, []string{"planetoid_cora", "--url", m.URL + "/elsewhere"}},
	} {
		newStore().write(s, "ok.npz")
		s.fails(c.code, c.want, append([]string{"data", "fetch", "--quiet"}, c.args...)...)
	}
	if left, err := filepath.Glob(s.path("data/capgnn/*")); err != nil || len(left) > 0 {
		t.Errorf("left %v, %v", left, err)
	}
}
