//go:build linux || darwin || freebsd || netbsd || openbsd || dragonfly

package lockfile

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"

	"capgnn/internal/atomicfile"
	"capgnn/internal/long"
)

// TestMain is another process, when the environment says so: it takes the lock when its input says "go", tells what came of it, and
// holds it until its input ends.
func TestMain(m *testing.M) {
	path := os.Getenv("LOCKFILE_TEST_TAKE")
	if path == "" {
		os.Exit(m.Run())
	}
	in := bufio.NewReader(os.Stdin)
	_, _ = in.ReadString('\n')
	lock, err := Take(path)
	var held *Held
	switch {
	case err == nil:
		fmt.Println("took")
	case errors.As(err, &held):
		fmt.Println("held", held.By.PID)
	default:
		fmt.Println(err)
	}
	if end, _ := io.ReadAll(in); string(end) == "at once" {
		atomicfile.Abandon()
		os.Exit(0)
	}
	lock.Release()
}

// other is another process.
type other struct {
	*exec.Cmd
	in  io.WriteCloser
	out *bufio.Reader
}

func newOther(t *testing.T, path string) *other {
	t.Helper()
	o := &other{Cmd: exec.Command(os.Args[0])}
	o.Env = append(os.Environ(), "LOCKFILE_TEST_TAKE="+path)
	var err error
	if o.in, err = o.StdinPipe(); err != nil {
		t.Fatal(err)
	}
	out, err := o.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	o.out = bufio.NewReader(out)
	if err := o.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = o.Process.Kill(); _ = o.Wait() })
	return o
}

func (o *other) start() { fmt.Fprintln(o.in, "go") }

func (o *other) says(t *testing.T) string {
	t.Helper()
	line, err := o.out.ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	return strings.TrimSpace(line)
}

// Of processes that take a lock at once one gets it, round after round, whatever the last holder has left; the others name it.
func TestOneOfMany(t *testing.T) {
	t.Parallel() // the others wait a second
	path := filepath.Join(t.TempDir(), "lock")
	rounds := 2
	if long.Wanted() {
		rounds = 10
	}
	for round := range rounds {
		var all []*other
		for range 4 {
			all = append(all, newOther(t, path))
		}
		for _, o := range all {
			o.start()
		}
		winner, said := (*other)(nil), map[*other]string{}
		for _, o := range all {
			if said[o] = o.says(t); said[o] != "took" {
				continue
			}
			if winner != nil {
				t.Fatalf("round %d: two have the lock", round)
			}
			winner = o
		}
		if winner == nil {
			t.Fatalf("round %d: nobody has the lock: %v", round, said)
		}
		for o, s := range said {
			if want := fmt.Sprint("held ", winner.Process.Pid); o != winner && s != want {
				t.Errorf("round %d: %q, want %q", round, s, want)
			}
		}
		if round%2 == 0 {
			_ = winner.Process.Kill() // its file stays
		}
		for _, o := range all {
			o.in.Close()
			_ = o.Wait()
		}
		if _, err := os.Stat(path); (err == nil) != (round%2 == 0) {
			t.Errorf("round %d: the lock's file: %v", round, err)
		}
	}
}

// A process that ends at once leaves no lock of its own, and that of another one that has taken its place.
func TestEndsAtOnce(t *testing.T) {
	for _, replaced := range []bool{false, true} {
		path := filepath.Join(t.TempDir(), "lock")
		o := newOther(t, path)
		o.start()
		if said := o.says(t); said != "took" {
			t.Fatal(said)
		}
		if replaced {
			if err := os.Remove(path); err != nil {
				t.Fatal(err)
			}
			lock, err := Take(path)
			if err != nil {
				t.Fatal(err)
			}
			defer lock.Release()
		}
		fmt.Fprint(o.in, "at once")
		o.in.Close()
		if err := o.Wait(); err != nil {
			t.Error(err)
		}
		if _, err := os.Stat(path); (err == nil) != replaced {
			t.Errorf("replaced: %t: %v", replaced, err)
		}
	}
}

// What a dead holder, or anybody, has left in the file keeps nobody away and is not taken for the holder.
func TestStale(t *testing.T) {
	for name, content := range map[string]string{
		"empty": "", "text": "locked\n", "another machine": `{"pid":1,"host":"elsewhere","command":"capgnn train"}`, "large": strings.Repeat("x", 1<<20),
	} {
		path := filepath.Join(t.TempDir(), "lock")
		if err := os.WriteFile(path, []byte(content), 0o644); err != nil {
			t.Fatal(err)
		}
		synctest.Test(t, func(t *testing.T) { // the second waits
			lock, err := Take(path)
			if err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			var held *Held
			if _, err := Take(path); !errors.As(err, &held) || held.By.PID != os.Getpid() {
				t.Errorf("%s: second: %v", name, err)
			}
			lock.Release()
			lock.Release()
			if _, err := os.Stat(path); !errors.Is(err, os.ErrNotExist) {
				t.Errorf("%s: the file stays: %v", name, err)
			}
		})
	}
}

// A lock whose file has gone is lost, and its release removes no other holder's file. A link is no lock.
func TestLost(t *testing.T) {
	dir := t.TempDir()
	path, link := filepath.Join(dir, "lock"), filepath.Join(dir, "link")
	first, err := Take(path)
	if err != nil || first.Lost() {
		t.Fatal(err, first.Lost())
	}
	if err := os.Remove(path); err != nil || !first.Lost() {
		t.Errorf("%v, or the lock is not lost", err)
	}
	second, err := Take(path)
	if err != nil || !first.Lost() {
		t.Fatal(err, first.Lost())
	}
	first.Release()
	if second.Lost() {
		t.Error("a release removed another holder's file")
	}
	second.Release()
	if err := errors.Join(os.WriteFile(path, []byte("mine"), 0o644), os.Symlink(path, link)); err != nil {
		t.Fatal(err)
	}
	if _, err := Take(link); err == nil {
		t.Error("a link was locked")
	}
	if text, err := os.ReadFile(path); err != nil || string(text) != "mine" {
		t.Errorf("%q, %v", text, err)
	}
}

// A holder that says nothing readable is told as what it is, on one short line.
func TestHolderString(t *testing.T) {
	f := filepath.Join(t.TempDir(), "lock")
	for content, want := range map[string]string{
		"":  "another process",
		"{": "another process",
		"{\"pid\":7,\"host\":\"a\\u001b[31m\\nb\",\"command\":\"" + strings.Repeat("ü", 99) + "\"}": "process 7 on a?[31m?b (üü",
	} {
		if err := os.WriteFile(f, []byte(content), 0o644); err != nil {
			t.Fatal(err)
		}
		file, err := os.Open(f)
		if err != nil {
			t.Fatal(err)
		}
		got := read(file).String()
		file.Close()
		if !strings.HasPrefix(got, want) || len(got) > 300 || strings.ContainsAny(got, "\n\x1b") {
			t.Errorf("%q: %q, want %q", content, got, want)
		}
	}
}

// What cannot be opened is an error of its own.
func TestTakeNothing(t *testing.T) {
	var held *Held
	if _, err := Take(filepath.Join(t.TempDir(), "none", "lock")); !errors.Is(err, os.ErrNotExist) || errors.As(err, &held) {
		t.Errorf("no folder: %v", err)
	}
	if _, err := Take(t.TempDir()); err == nil || errors.As(err, &held) {
		t.Errorf("a folder: %v", err)
	}
}
