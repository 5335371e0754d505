package ranks

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"

	"capgnn/cluster"
	"capgnn/cmd/capgnn/internal/term"
)

func lookup(vars map[string]string) cluster.Lookup {
	return func(name string) (string, bool) { v, ok := vars[name]; return v, ok }
}

func TestSecretIsFound(t *testing.T) {
	dir := t.TempDir()
	write := func(name, text string) string {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	long := func(c string) string { return fmt.Sprintf("%x", sha256.Sum256([]byte(c))) }
	file := write("file", long("f")+"\n")
	write("xdg/capgnn/secret", long("x"))
	write("home/.config/capgnn/secret", long("h"))
	home := map[string]string{"HOME": dir + "/home"}
	xdg := map[string]string{"HOME": dir + "/home", "XDG_CONFIG_HOME": dir + "/xdg"}
	for _, tc := range []struct {
		file string
		env  map[string]string
		want string
	}{
		{file, map[string]string{"CAPGNN_SECRET": long("v")}, long("f")},
		{"", map[string]string{"CAPGNN_SECRET": long("v"), "XDG_CONFIG_HOME": dir + "/xdg"}, long("v")},
		{"", xdg, long("x")},
		{"", map[string]string{"CAPGNN_SECRET": "", "XDG_CONFIG_HOME": dir + "/xdg"}, long("x")},
		{"", home, long("h")},
		{"", map[string]string{"HOME": dir + "/home", "XDG_CONFIG_HOME": "relative"}, long("h")},
		{"", map[string]string{"HOME": dir}, ""},
		{"", nil, ""},
	} {
		if got, err := Secret(tc.file, lookup(tc.env)); err != nil || string(got) != tc.want {
			t.Errorf("file %q, variables %v: %q, %v, want %q", tc.file, tc.env, got, err, tc.want)
		}
	}
	if err := os.Mkdir(dir+"/xdg/folder", 0o700); err != nil {
		t.Fatal(err)
	}
	if err := syscall.Mkfifo(dir+"/fifo", 0o600); err != nil {
		t.Fatal(err)
	}
	open := write("open", long("o"))
	if err := os.Chmod(open, 0o640); err != nil {
		t.Fatal(err)
	}
	for _, tc := range []struct{ file, variable, says string }{
		{open, "", "--transport secret: " + open + " is open to others (mode 0640): make it 0600 (chmod 600 " + open + "), or remove it; `capgnn doctor --cluster` makes one"},
		{write("short", "abc"), "", "has 3 bytes, a secret has at least 32: remove it; `capgnn doctor --cluster` makes one"},
		{write("empty", ""), "", "is empty: remove it; `capgnn doctor --cluster` makes one"},
		{write("large", strings.Repeat("x", 1<<20)), "", "has more than 4096 bytes"},
		{dir + "/none", "", "no such file or directory; `capgnn doctor --cluster` makes one"},
		{dir + "/fifo", "", "is not a file but a FIFO"},
		{dir + "/xdg/folder", "", "is not a file but a folder"},
		{"", "short", "CAPGNN_SECRET: has 5 bytes, a secret has at least 32: unset it, or set it to a secret; `capgnn doctor --cluster` makes one"},
		{"", " ", "CAPGNN_SECRET: is empty"},
	} {
		env := map[string]string{}
		if tc.variable != "" {
			env["CAPGNN_SECRET"] = tc.variable
		}
		if _, err := Secret(tc.file, lookup(env)); err == nil || !strings.Contains(err.Error(), tc.says) || strings.Contains(err.Error(), "\n") || term.ExitCode(err) != term.ExitUsage {
			t.Errorf("%s %q: %v, want %q", tc.file, tc.variable, err, tc.says)
		}
	}
}

// Many that make a secret at once get the same one, and leave nothing else.
func TestMakeSecret(t *testing.T) {
	path := filepath.Join(t.TempDir(), "config", "capgnn", "secret")
	secrets, made := make([][]byte, 20), make([]bool, 20)
	var all sync.WaitGroup
	for i := range secrets {
		all.Go(func() {
			var err error
			if secrets[i], made[i], err = MakeSecret(path); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	count := 0
	for i, s := range secrets {
		if !bytes.Equal(s, secrets[0]) || len(s) != 64 {
			t.Errorf("%q and %q", s, secrets[0])
		}
		if made[i] {
			count++
		}
	}
	info, err := os.Stat(path)
	left, _ := os.ReadDir(filepath.Dir(path))
	if err != nil || info.Mode().Perm() != 0o600 || len(left) != 1 || count != 1 {
		t.Errorf("%v, %v, %d files, made %d times", info.Mode(), err, len(left), count)
	}
	if dir, err := os.Stat(filepath.Dir(path)); err != nil || dir.Mode().Perm() != 0o700 {
		t.Errorf("%v, %v", dir.Mode(), err)
	}
	// What is there stays, good or bad.
	if err := os.WriteFile(path, []byte("bad"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, made, err := MakeSecret(path); made || err == nil || !strings.Contains(err.Error(), "has 3 bytes") {
		t.Errorf("made %v, %v", made, err)
	}
	if text, _ := os.ReadFile(path); string(text) != "bad" {
		t.Errorf("%q", text)
	}
	link := filepath.Join(filepath.Dir(path), "dangling")
	if err := os.Symlink("nowhere", link); err != nil {
		t.Fatal(err)
	}
	if _, made, err := MakeSecret(link); made || err == nil {
		t.Errorf("a dangling link: made %v, %v", made, err)
	}
	if a, b := NewSecret(), NewSecret(); bytes.Equal(a, b) {
		t.Errorf("%q twice", a)
	}
}

// Processes of a user share a secret in a folder of theirs alone; a folder that somebody else may have made is refused.
func TestOwnSecret(t *testing.T) {
	dir := t.TempDir()
	t.Setenv("TMPDIR", dir)
	first, err := ownSecret()
	if err != nil {
		t.Fatal(err)
	}
	if second, err := ownSecret(); err != nil || !bytes.Equal(first, second) {
		t.Errorf("%q and %q, %v", first, second, err)
	}
	own := filepath.Join(dir, fmt.Sprintf("capgnn-%d", os.Geteuid()))
	for name, make := range map[string]func() error{
		"open": func() error { return os.Chmod(own, 0o755) },
		"link": func() error {
			return errors.Join(os.Rename(own, own+"-moved"), os.Chmod(own+"-moved", 0o700), os.Symlink(own+"-moved", own))
		},
		"file": func() error { return errors.Join(os.Remove(own), os.WriteFile(own, nil, 0o600)) },
		"others": func() error {
			return errors.Join(os.Remove(own), os.Mkdir(own, 0o700), os.Chown(own, os.Geteuid()+1, -1))
		},
	} {
		_ = os.RemoveAll(own)
		t.Run(name, func(t *testing.T) {
			if _, err := ownSecret(); err != nil {
				t.Fatal(err)
			}
			if name != "link" {
				_ = os.Remove(filepath.Join(own, "secret"))
			}
			if err := make(); errors.Is(err, os.ErrPermission) {
				t.Skipf("a folder of another user needs root: %v", err)
			} else if err != nil {
				t.Fatal(err)
			}
			if _, err := ownSecret(); err == nil || !strings.Contains(err.Error(), own+" is no folder of this user alone") {
				t.Errorf("%v", err)
			}
		})
	}
}

// Without a secret ranks of this machine get one, and meet at one address of it, whatever they call it.
func TestTrust(t *testing.T) {
	t.Setenv("TMPDIR", t.TempDir())
	for master, want := range map[string]string{"127.0.0.1:7": "127.0.0.1:7", "localhost:7": "127.0.0.1:7", "[::1]:7": "[::1]:7"} {
		s := Settings{Place: cluster.Place{Ranks: 2, Master: master}}
		if err := s.trust(t.Context()); err != nil || s.Master != want || len(s.Secret) < cluster.MinSecret {
			t.Errorf("%s: %s, %d bytes of secret, %v", master, s.Master, len(s.Secret), err)
		}
	}
	for _, master := range []string{"192.0.2.1:7", "nowhere.invalid:7"} {
		s := Settings{Place: cluster.Place{Ranks: 2, Master: master}}
		if err := s.trust(t.Context()); err == nil || !strings.Contains(err.Error(), "there is no secret") || s.Secret != nil {
			t.Errorf("%s: %v", master, err)
		}
	}
}
