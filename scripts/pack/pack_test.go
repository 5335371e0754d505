package main

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"debug/buildinfo"
	"encoding/base64"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"reflect"
	"runtime/debug"
	"strings"
	"testing"
	"time"
)

var at = time.Date(2026, 1, 2, 3, 4, 6, 0, time.UTC)

// filled makes a folder with a program and a text, of which the files are old.
func filled(t *testing.T, age time.Duration, order ...string) string {
	t.Helper()
	dir := t.TempDir()
	if err := os.MkdirAll(filepath.Join(dir, "sub"), 0o700); err != nil {
		t.Fatal(err)
	}
	for _, name := range order {
		path := filepath.Join(dir, name)
		mode := os.FileMode(0o600)
		if name == "capgnn" {
			mode = 0o711
		}
		if err := os.WriteFile(path, []byte("of "+name), mode); err != nil {
			t.Fatal(err)
		}
		if err := os.Chtimes(path, at.Add(-age), at.Add(-age)); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// Equal files give equal archives, whenever and in whatever order they were made, and come out as they were.
func TestArchivesRepeat(t *testing.T) {
	want := []string{"x/LICENSE 0644 of LICENSE", "x/capgnn 0755 of capgnn", "x/sub/text 0644 of sub/text"}
	for name, c := range map[string]struct {
		pack func([]member, string, time.Time) ([]byte, error)
		list func(*testing.T, []byte) []string
	}{"tar": {tarball, listTar}, "zip": {zipped, listZip}} {
		t.Run(name, func(t *testing.T) {
			var archives [2][]byte
			for i, dir := range []string{filled(t, time.Hour, "capgnn", "sub/text", "LICENSE"), filled(t, 9*time.Hour, "LICENSE", "sub/text", "capgnn")} {
				members, err := membersOf(dir)
				if err != nil {
					t.Fatal(err)
				}
				if i == 1 {
					members[0], members[2] = members[2], members[0]
				}
				if archives[i], err = c.pack(sorted(members), "x", at); err != nil {
					t.Fatal(err)
				}
			}
			if !bytes.Equal(archives[0], archives[1]) {
				t.Error("two archives of equal files differ")
			}
			if got := c.list(t, archives[0]); !reflect.DeepEqual(got, want) {
				t.Errorf("the archive holds %q, want %q", got, want)
			}
		})
	}
}

func listTar(t *testing.T, data []byte) (list []string) {
	z, err := gzip.NewReader(bytes.NewReader(data))
	if err != nil {
		t.Fatal(err)
	}
	for r := tar.NewReader(z); ; {
		h, err := r.Next()
		if err == io.EOF {
			return list
		}
		if err != nil {
			t.Fatal(err)
		}
		text, err := io.ReadAll(r)
		if err != nil || !h.ModTime.Equal(at) || h.Uid != 0 || h.Gid != 0 || h.Uname != "" || h.Gname != "" {
			t.Errorf("%+v: %v", h, err)
		}
		list = append(list, entry(h.Name, h.FileInfo().Mode(), text))
	}
}

func listZip(t *testing.T, data []byte) (list []string) {
	r, err := zip.NewReader(bytes.NewReader(data), int64(len(data)))
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range r.File {
		in, err := f.Open()
		if err != nil {
			t.Fatal(err)
		}
		text, err := io.ReadAll(in)
		if err != nil || !f.Modified.Equal(at) {
			t.Errorf("%+v: %v", f.FileHeader, err)
		}
		list = append(list, entry(f.Name, f.Mode(), text))
	}
	return list
}

func entry(name string, mode os.FileMode, text []byte) string {
	return name + map[os.FileMode]string{0o755: " 0755 ", 0o644: " 0644 "}[mode] + string(text)
}

func hexOf(text string) string { return fmt.Sprintf("%x", sha256.Sum256([]byte(text))) }

// A document names the program, Go's library and every module, each with what identifies it.
func TestSPDX(t *testing.T) {
	h1 := sha256.Sum256([]byte("module"))
	dep := func(path, version string) *debug.Module {
		return &debug.Module{Path: path, Version: version, Sum: "h1:" + base64.StdEncoding.EncodeToString(h1[:])}
	}
	info := &buildinfo.BuildInfo{
		GoVersion: "go1.26.8", Main: debug.Module{Path: "capgnn", Version: "v0.1.0"},
		Deps:     []*debug.Module{dep("git.sr.ht/~sbinet/gg", "v0.7.0"), dep("github.com/NVIDIA/x", "v2.0.0+incompatible")},
		Settings: []debug.BuildSetting{{Key: "GOOS", Value: "linux"}, {Key: "GOARCH", Value: "arm64"}, {Key: "vcs.revision", Value: "abc"}},
	}
	d, err := spdx(info, "capgnn_v0.1.0_linux_arm64", "capgnn", sha256.Sum256([]byte("program")), at)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for i, p := range d.Packages {
		got = append(got, p.ID+" "+p.External[0].Locator)
		if r := d.Relationships[i]; r.To != p.ID || (i == 0) != (r.Type == "DESCRIBES") || (i > 0) != (r.From == d.Packages[0].ID) {
			t.Errorf("relationship %d: %+v", i, r)
		}
	}
	want := []string{
		"SPDXRef-capgnn-v0.1.0 pkg:golang/capgnn@v0.1.0",
		"SPDXRef-stdlib-1.26.8 pkg:golang/stdlib@1.26.8",
		"SPDXRef-git.sr.ht-sbinet-gg-v0.7.0 pkg:golang/git.sr.ht/~sbinet/gg@v0.7.0",
		"SPDXRef-github.com-NVIDIA-x-v2.0.0-incompatible pkg:golang/github.com/nvidia/x@v2.0.0%2Bincompatible",
	}
	if !reflect.DeepEqual(got, want) || len(d.Relationships) != len(want) {
		t.Errorf("packages %q, want %q", got, want)
	}
	if p := d.Packages[0]; p.Checksums[0].Value != hexOf("program") || p.SourceInfo != "commit abc, built by go1.26.8 for linux/arm64" {
		t.Errorf("the program is %+v", p)
	}
	if sum := d.Packages[3].Checksums[0].Value; sum != hexOf("module") {
		t.Errorf("the module's sum is %s", sum)
	}
	info.Deps[1].Sum = ""
	if _, err := spdx(info, "x", "capgnn", h1, at); err == nil || !strings.Contains(err.Error(), "github.com/NVIDIA/x") {
		t.Errorf("a module without a sum: %v", err)
	}
}

// License texts are those of this program's modules; a folder without one is an error.
func TestLicenses(t *testing.T) {
	version, err := output("go", "list", "-m", "-f", "{{.Version}}", "gonum.org/v1/gonum")
	if err != nil {
		t.Fatal(err)
	}
	m := &debug.Module{Path: "gonum.org/v1/gonum", Version: strings.TrimSpace(version)}
	text, err := licensesOf([]*debug.Module{m})
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"==== Go: LICENSE\n\nCopyright 2009 The Go Authors", "==== " + m.Path + " " + m.Version + ": LICENSE\n", ": THIRD_PARTY_LICENSES/"} {
		if !strings.Contains(string(text), want) {
			t.Errorf("the licenses lack %q", want)
		}
	}
	m.Version = "v0.0.1"
	if _, err := licensesOf([]*debug.Module{m}); err == nil {
		t.Error("a module of another version than the program's is taken")
	}
	if err := writeLicenses(&bytes.Buffer{}, "none", t.TempDir()); err == nil {
		t.Error("a module without a license is taken")
	}
}
