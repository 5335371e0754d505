package fetch

import (
	"archive/zip"
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
)

// zipOf makes an archive; change may alter a member's header.
func zipOf(t testing.TB, members [][2]string, change func(h *zip.FileHeader)) []byte {
	t.Helper()
	var b bytes.Buffer
	z := zip.NewWriter(&b)
	for _, m := range members {
		h := &zip.FileHeader{Name: m[0], Method: zip.Deflate}
		if change != nil {
			change(h)
		}
		w, err := z.CreateHeader(h)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := w.Write([]byte(m[1])); err != nil {
			t.Fatal(err)
		}
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func zipSet(m *mirror) Published {
	return Published{Name: "set", base: m.URL, files: []remoteFile{{name: "set.zip", limit: 1 << 20}}, unpack: unpacking{limit: 64 << 20, needs: []string{"raw/a"}}}
}

func TestFetchArchive(t *testing.T) {
	inner := [][2]string{{"arxiv/", ""}, {"arxiv/raw/", ""}, {"arxiv/raw/a", "one"}, {"arxiv/split/time/b", "two"}}
	flat := [][2]string{{"raw/a", "one"}, {"b", strings.Repeat("two", 1000)}}
	big := [][2]string{{"raw/a", string(noise(200_000))}}
	for name, members := range map[string][][2]string{"in a folder": inner, "flat": flat, "big": big} {
		t.Run(name, func(t *testing.T) {
			m := newMirror(t, zipOf(t, members, nil))
			root := t.TempDir()
			path, err := download(t.Context(), zipSet(m), root, Options{})
			if err != nil {
				t.Fatal(err)
			}
			for _, f := range members {
				if got, err := os.ReadFile(filepath.Join(path, strings.TrimPrefix(f[0], "arxiv/"))); !strings.HasSuffix(f[0], "/") && (err != nil || string(got) != f[1]) {
					t.Errorf("%s: %d bytes, %v", f[0], len(got), err)
				}
			}
			if names := fileNames(t, root); !slices.Equal(names, []string{"set"}) {
				t.Errorf("%v beside the data set", names)
			}
		})
	}
	t.Run("full disk", func(t *testing.T) {
		m := newMirror(t, zipOf(t, big, nil))
		root := t.TempDir()
		if _, err := download(t.Context(), zipSet(m), root, Options{create: onDisk(len(m.body) + 1000)}); !errors.Is(err, syscall.ENOSPC) {
			t.Errorf("got %v", err)
		}
		if names := fileNames(t, filepath.Join(root, "set.part")); slices.Contains(names, "unpacked") {
			t.Errorf("left %v", names)
		}
		m.requests()
		if _, err := download(t.Context(), zipSet(m), root, Options{}); err != nil || len(m.requests()) != 0 {
			t.Errorf("the archive was there, but %v", err)
		}
	})
}

// Archives that would write elsewhere, or more than they should, are refused before or while they are unpacked.
func TestFetchBadArchive(t *testing.T) {
	good := [2]string{"raw/a", "one"}
	spoiled := zipOf(t, [][2]string{{"raw/a", string(noise(5000))}}, func(h *zip.FileHeader) { h.Method = zip.Store })
	spoiled[1000] ^= 1
	for name, c := range map[string]struct {
		body []byte
		want string
	}{
		"above":     {zipOf(t, [][2]string{good, {"../b", "x"}}, nil), "leads out"},
		"hidden up": {zipOf(t, [][2]string{good, {"raw/../../b", "x"}}, nil), "leads out"},
		"absolute":  {zipOf(t, [][2]string{good, {"/tmp/b", "x"}}, nil), "leads out"},
		"windows":   {zipOf(t, [][2]string{good, {`..\b`, "x"}}, nil), "leads out"},
		"link":      {zipOf(t, [][2]string{good}, func(h *zip.FileHeader) { h.SetMode(os.ModeSymlink | 0o777) }), "no plain file"},
		"device":    {zipOf(t, [][2]string{good}, func(h *zip.FileHeader) { h.SetMode(os.ModeDevice | 0o777) }), "no plain file"},
		"twice":     {zipOf(t, [][2]string{good, good}, nil), "twice"},
		"bomb":      {zipOf(t, [][2]string{good, {"b", strings.Repeat("\x00", 40<<20)}}, nil), "more than 256 times"},
		"too much":  {zipOf(t, [][2]string{good, {"b", strings.Repeat("\x00", 40<<20)}, {"c", strings.Repeat("\x00", 40<<20)}}, nil), "more than 67108864"},
		"lacks":     {zipOf(t, [][2]string{{"b", "x"}}, nil), "does not hold raw/a"},
		"no zip":    {noise(5000), "not a valid zip"},
		"truncated": {spoiled[:2000], "not a valid zip"},
		"spoiled":   {spoiled, "checksum"},
	} {
		t.Run(name, func(t *testing.T) {
			m := newMirror(t, c.body)
			above := t.TempDir()
			root := filepath.Join(above, "root")
			_, err := download(t.Context(), zipSet(m), root, Options{})
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("got %v, want %q", err, c.want)
			}
			if left := append(fileNames(t, root), fileNames(t, above)...); !slices.Equal(left, []string{"root"}) {
				t.Errorf("left %v", left)
			}
		})
	}
}

// A member that inflates to more than the list of members says writes no more than that.
func TestUnpackUnderstated(t *testing.T) {
	body := zipOf(t, [][2]string{{"raw/a", strings.Repeat("x", 100_000)}}, nil)
	at := bytes.LastIndex(body, []byte("PK\x01\x02")) + 24 // the uncompressed size in the list
	copy(body[at:], []byte{10, 0, 0, 0})
	path := filepath.Join(t.TempDir(), "a.zip")
	if err := os.WriteFile(path, body, 0o644); err != nil {
		t.Fatal(err)
	}
	var opt Options
	opt.defaults()
	dir := filepath.Join(filepath.Dir(path), "out")
	if _, err := unpack(t.Context(), path, dir, unpacking{limit: 1000}, opt.create); !errors.Is(err, errNotPublished) {
		t.Errorf("got %v", err)
	}
	if _, err := os.Stat(dir); err == nil {
		t.Error("something is left")
	}
}
