package fetch

import (
	"bytes"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"
)

func TestFetchRefuses(t *testing.T) {
	content := noise(testBytes)
	for _, c := range []struct {
		name  string
		spoil func(m *mirror, set *Published)
		want  string
		asked int
	}{
		{"wrong bytes", func(m *mirror, set *Published) { m.body = bytes.Clone(content); m.body[7] ^= 1 }, "is not the published file: its 300000 bytes have SHA-256", 1},
		{"wrong git id", func(m *mirror, set *Published) {
			set.files[0] = remoteFile{name: "set.npz", blob: strings.Repeat("0", 40), limit: 1 << 20}
		}, "git id", 1},
		{"short", func(m *mirror, set *Published) { m.body = content[:99] }, "99 bytes, want 300000", 1},
		{"long", func(m *mirror, set *Published) { m.body = noise(testBytes + 1) }, "300001 bytes, want 300000", 1},
		{"above the limit", func(m *mirror, set *Published) { *set = unverified(m); set.files[0].limit = 1000 }, "want at most 1000", 1},
		{"not there", func(m *mirror, set *Published) { m.status = []int{404} }, "404", 1},
		{"always busy", func(m *mirror, set *Published) { m.status = []int{503, 503, 503, 503, 503} }, "503", 4},
		{"no server", func(m *mirror, set *Published) { m.Close() }, "refused", 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			m := newMirror(t, content)
			set := testSet(content, m)
			c.spoil(m, &set)
			root := t.TempDir()
			_, err := download(t.Context(), set, root, quick)
			if err == nil || !strings.Contains(err.Error(), c.want) || strings.Contains(err.Error(), "\n") {
				t.Errorf("got %v, want %q", err, c.want)
			}
			if left := fileNames(t, root); len(left) > 0 {
				t.Errorf("left %v", left)
			}
			if got := m.requests(); len(got) != c.asked {
				t.Errorf("%d requests, want %d", len(got), c.asked)
			}
		})
	}
}

// Whatever goes wrong, the line ends with what to do.
func TestFetchSaysWhatToDo(t *testing.T) {
	content := noise(testBytes)
	const again, mirrored, moved = "fetch again later to continue, or name a mirror with --url", "name another mirror with --url", "name its new folder with --url"
	page := func(w http.ResponseWriter, r *http.Request) { fmt.Fprint(w, "<!DOCTYPE html><title>Sorry</title>") }
	status := func(code int) http.HandlerFunc {
		return func(w http.ResponseWriter, r *http.Request) { http.Error(w, "no", code) }
	}
	for name, c := range map[string]struct {
		answer http.HandlerFunc // nil: that of a mirror
		spoil  func(m *mirror)
		fault  string
		want   string
	}{
		"a web page":      {answer: page, fault: "a web page", want: moved},
		"gone":            {answer: status(410), fault: "410 Gone", want: moved},
		"not there":       {answer: status(404), fault: "404 Not Found", want: moved},
		"wants a login":   {answer: status(401), fault: "401", want: moved},
		"broken for long": {answer: status(502), fault: "502", want: again},
		"moved to nowhere": {answer: func(w http.ResponseWriter, r *http.Request) {
			if r.URL.Path == "/gone" {
				http.NotFound(w, r)
				return
			}
			http.Redirect(w, r, "/gone", http.StatusMovedPermanently)
		}, fault: "404", want: moved},
		"another size":      {spoil: func(m *mirror) { m.body = content[:99] }, fault: "99 bytes, want 300000", want: mirrored},
		"another content":   {spoil: func(m *mirror) { m.body = noise(testBytes); m.body[9] ^= 1 }, fault: "SHA-256", want: mirrored},
		"stalls every time": {spoil: func(m *mirror) { m.cuts = []int64{-1000, -1000, -1000, -1000, -1000} }, fault: "nothing came for", want: again},
		"cut every time":    {spoil: func(m *mirror) { m.cuts = []int64{1000, 1000, 1000, 1000, 1000} }, fault: "after", want: again},
	} {
		t.Run(name, func(t *testing.T) {
			m := newMirror(t, content)
			if c.answer != nil {
				server := httptest.NewServer(c.answer)
				defer server.Close()
				m = &mirror{Server: server}
			} else {
				c.spoil(m)
			}
			opt := quick
			opt.Stall = 100 * time.Millisecond
			_, err := download(t.Context(), testSet(content, m), t.TempDir(), opt)
			if err == nil || !strings.Contains(err.Error(), c.fault) || !strings.Contains(err.Error(), c.want) || strings.Contains(err.Error(), "\n") {
				t.Errorf("got %v, want %q and %q", err, c.fault, c.want)
			}
		})
	}
}

// Answers that no honest server gives.
func TestFetchOddAnswers(t *testing.T) {
	content := noise(testBytes)
	for name, c := range map[string]struct {
		answer http.HandlerFunc
		want   string
	}{
		"endless": {func(w http.ResponseWriter, r *http.Request) {
			for r.Context().Err() == nil {
				if _, err := w.Write(content); err != nil {
					return
				}
			}
		}, "300001 bytes or more"},
		"a part unasked": {func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Range", "bytes 0-1/2")
			w.WriteHeader(http.StatusPartialContent)
		}, "the server sent a part"},
		"a web page":    {func(w http.ResponseWriter, r *http.Request) { fmt.Fprint(w, "<html>log in</html>") }, "a web page"},
		"in circles":    {func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, r.URL.Path, http.StatusFound) }, "redirections"},
		"no such place": {func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, "ftp://x/y", http.StatusFound) }, "ftp"},
	} {
		t.Run(name, func(t *testing.T) {
			server := httptest.NewServer(c.answer)
			defer server.Close()
			root := t.TempDir()
			set := testSet(content, &mirror{Server: server})
			_, err := download(t.Context(), set, root, quick)
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("got %v, want %q", err, c.want)
			}
			if left := fileNames(t, root); len(left) > 0 {
				t.Errorf("left %v", left)
			}
		})
	}
}
