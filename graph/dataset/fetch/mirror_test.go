package fetch

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// mirror is a server of one file with faults, which remembers what was asked.
type mirror struct {
	*httptest.Server
	mu     sync.Mutex
	body   []byte
	etag   string
	cuts   []int64 // the connection breaks after so many bytes, once each; negative: it stalls
	plain  bool    // no ranges
	status []int   // answered first, once each
	asked  []string
}

func newMirror(t *testing.T, body []byte) *mirror {
	m := &mirror{body: body, etag: `"one"`}
	m.Server = httptest.NewServer(http.HandlerFunc(m.serve))
	t.Cleanup(m.CloseClientConnections)
	t.Cleanup(m.Close)
	return m
}

func (m *mirror) serve(w http.ResponseWriter, r *http.Request) {
	m.mu.Lock()
	m.asked = append(m.asked, strings.TrimSpace(r.Header.Get("Range")+" "+r.Header.Get("If-Range")))
	body, etag, plain := m.body, m.etag, m.plain
	cut, status := int64(len(body))+1, 0
	if len(m.cuts) > 0 {
		cut, m.cuts = m.cuts[0], m.cuts[1:]
	}
	if len(m.status) > 0 {
		status, m.status = m.status[0], m.status[1:]
	}
	m.mu.Unlock()
	w.Header().Set("Content-Type", "application/octet-stream")
	switch {
	case status != 0:
		http.Error(w, "no", status)
		return
	case strings.HasPrefix(r.URL.Path, "/moved/"):
		http.Redirect(w, r, strings.TrimPrefix(r.URL.Path, "/moved"), http.StatusFound)
		return
	case plain:
		r.Header.Del("Range")
	}
	if etag != "" {
		w.Header().Set("ETag", etag)
	}
	http.ServeContent(&cutter{w, r, cut}, r, "", time.Time{}, bytes.NewReader(body))
}

// requests returns what was asked since the last call: Range and If-Range of each request.
func (m *mirror) requests() []string {
	m.mu.Lock()
	defer m.mu.Unlock()
	out := m.asked
	m.asked = nil
	return out
}

// cutter breaks a connection, or stalls it, in the middle of the body.
type cutter struct {
	http.ResponseWriter
	r    *http.Request
	left int64
}

func (c *cutter) Write(p []byte) (int, error) {
	stall := c.left < 0
	if left := max(c.left, -c.left); int64(len(p)) > left {
		n, _ := c.ResponseWriter.Write(p[:left])
		c.ResponseWriter.(http.Flusher).Flush()
		if stall {
			<-c.r.Context().Done()
		}
		return n, syscall.EPIPE
	}
	if stall {
		c.left += int64(len(p))
	} else {
		c.left -= int64(len(p))
	}
	return c.ResponseWriter.Write(p)
}

func noise(n int) []byte {
	r := rand.New(rand.NewPCG(1, uint64(n)))
	b := make([]byte, n)
	for i := range b {
		b[i] = byte(r.Uint32())
	}
	return b
}

// testSet is a data set of one file with this content.
func testSet(content []byte, m *mirror) Published {
	sum := sha256.Sum256(content)
	return Published{Name: "set", base: m.URL, files: []remoteFile{known("set.npz", int64(len(content)), hex.EncodeToString(sum[:]))}}
}

// unverified is the same without size and checksum.
func unverified(m *mirror) Published {
	return Published{Name: "set", base: m.URL, files: []remoteFile{{name: "set.npz", limit: 1 << 20}}}
}

// quick are options that try again at once.
var quick = Options{Retries: 3, Backoff: time.Millisecond}

func wantContent(t *testing.T, root string, content []byte) {
	t.Helper()
	got, err := os.ReadFile(filepath.Join(root, "set", "set.npz"))
	if err != nil || !bytes.Equal(got, content) {
		t.Errorf("%d bytes, %v; want %d equal ones", len(got), err, len(content))
	}
	if names := fileNames(t, root); !slices.Equal(names, []string{"set"}) {
		t.Errorf("%v beside the data set", names)
	}
	if names := fileNames(t, filepath.Join(root, "set")); !slices.Equal(names, []string{"set.npz"}) {
		t.Errorf("the data set holds %v", names)
	}
}

// fullDisk takes so many bytes and no more.
type fullDisk struct {
	*os.File
	left *int
}

func (d fullDisk) Write(p []byte) (int, error) {
	if len(p) > *d.left {
		n, _ := d.File.Write(p[:*d.left])
		*d.left = 0
		return n, &os.PathError{Op: "write", Path: d.Name(), Err: syscall.ENOSPC}
	}
	*d.left -= len(p)
	return d.File.Write(p)
}

func onDisk(left int) func(string, int, os.FileMode) (sink, error) {
	return func(name string, flag int, perm os.FileMode) (sink, error) {
		f, err := os.OpenFile(name, flag, perm)
		return fullDisk{f, &left}, err
	}
}

func fileNames(t *testing.T, dir string) (names []string) {
	list, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range list {
		names = append(names, e.Name())
	}
	return names
}
