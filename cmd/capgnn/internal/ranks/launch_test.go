package ranks

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"capgnn/cluster"
	"capgnn/cmd/capgnn/internal/progtest"
	"capgnn/cmd/capgnn/internal/term"
)

// asRank makes this test binary what a launch starts.
const asRank = "CAPGNN_TEST_RANK"

func TestMain(m *testing.M) {
	switch os.Getenv(asRank) {
	case "rank":
		if len(os.Args) > 1 && os.Args[1] == "version" {
			printVersion()
			return
		}
		for _, word := range os.Args[1:] {
			play(word)
		}
		return
	case "launcher":
		os.Setenv(asRank, "rank")
		l := Launch{Program: os.Args[0], Args: os.Args[2:], Hosts: strings.Split(os.Args[1], ","), Dir: ".", Remote: SSH{}, Out: io.Discard, Err: io.Discard}
		if l.Hosts[0] == "here" {
			l.Hosts = make([]string, 2)
		}
		signals := make(chan os.Signal, 2)
		signal.Notify(signals, os.Interrupt)
		l.Signals = signals
		fmt.Println(l.Run())
		return
	}
	dir, err := os.MkdirTemp("", "capgnn-ranks-*")
	if err == nil {
		err = os.Setenv("TMPDIR", dir) // of this user's secret, too
	}
	if err != nil {
		panic(err)
	}
	signal.Notify(make(chan os.Signal, 1), os.Interrupt) // so that ranks do not ignore it, as what a shell starts behind & does
	progtest.Main(m, func() { os.RemoveAll(dir) })
}

// printVersion does what `capgnn version --json` does on the machine that the fake ssh names.
func printVersion() {
	info := term.ReadBuildInfo()
	switch os.Getenv("FAKE_HOST") {
	case "old":
		info.Commit = "0123abc"
	case "arm":
		info.Arch, info.Cgo = "arm64", !info.Cgo
	case "prose":
		fmt.Println("hello")
		return
	}
	json.NewEncoder(os.Stdout).Encode(info)
}

// heard are the interruptions of a rank.
var heard = make(chan os.Signal, 2)

// play does one thing that an argument asks of a rank; N/THING is for rank N alone.
func play(word string) {
	if who, rest, ok := strings.Cut(word, "/"); ok && regexp.MustCompile(`^\d$`).MatchString(who) {
		if who != os.Getenv("RANK") {
			return
		}
		word = rest
	}
	what, value, _ := strings.Cut(word, ":")
	number, _ := strconv.Atoi(value)
	switch what {
	case "out":
		fmt.Println(value)
	case "part":
		fmt.Print(value)
	case "err":
		fmt.Fprintln(os.Stderr, value)
	case "place":
		p, err := cluster.Find(cluster.Flags{}, os.LookupEnv)
		fmt.Printf("%d/%d %d/%d %s %v %s\n", p.Rank, p.Ranks, p.LocalRank, p.LocalRanks, p.Master, err, os.Getenv("CAPGNN_SECRET"))
	case "args":
		fmt.Printf("%q\n", os.Args[1:])
	case "many":
		for i := range number {
			fmt.Printf("line %d of", i)
			fmt.Printf(" rank %s\n", os.Getenv("RANK"))
		}
	case "sleep":
		time.Sleep(time.Duration(number) * time.Millisecond)
	case "exit":
		os.Exit(number)
	case "kill":
		syscall.Kill(os.Getpid(), syscall.SIGKILL)
		select {}
	case "listen":
		signal.Notify(heard, os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
	case "obey": // ends with 130 at the first interruption
		play("listen")
		fmt.Println("ready")
		<-heard
		time.Sleep(100 * time.Millisecond)
		fmt.Fprintf(os.Stderr, "capgnn: interrupted, %d more\n", len(heard))
		os.Exit(term.ExitInterrupted)
	case "hang": // whatever it is asked
		signal.Ignore(os.Interrupt, syscall.SIGTERM)
		fmt.Println("ready")
		time.Sleep(time.Minute)
	case "pid":
		os.WriteFile(value+os.Getenv("RANK"), []byte(strconv.Itoa(os.Getpid())), 0o600)
	case "once": // exit code 4 at the first start
		if _, err := os.Stat(value); err != nil {
			os.WriteFile(value, nil, 0o600)
			fmt.Fprintln(os.Stderr, "capgnn: rank 1 lost")
			os.Exit(term.ExitLost)
		}
	default:
		panic("no such part: " + word)
	}
}

// fakeSSH puts a program ssh in front of all others that runs scripts on this machine; the host gone does not answer.
func fakeSSH(t *testing.T) {
	t.Helper()
	dir := t.TempDir()
	const script = `#!/bin/sh
while [ "$1" != -- ]; do shift; done
case $2 in gone) echo "ssh: connect to host gone port 22: No route to host" >&2; exit 255;; esac
FAKE_HOST=$2; export FAKE_HOST; shift 2
exec sh -c "$*"
`
	if err := os.WriteFile(filepath.Join(dir, "ssh"), []byte(script), 0o755); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", dir+":"+os.Getenv("PATH"))
}

// safe is a buffer for several writers.
type safe struct {
	turn sync.Mutex
	text bytes.Buffer
}

func (s *safe) Write(p []byte) (int, error) {
	s.turn.Lock()
	defer s.turn.Unlock()
	return s.text.Write(p)
}

func (s *safe) String() string {
	s.turn.Lock()
	defer s.turn.Unlock()
	return s.text.String()
}

// launch returns a launch of this test binary: on this machine, or by ssh on hosts.
func launch(t *testing.T, n int, hosts string, args ...string) (l *Launch, out, stderr *safe) {
	t.Helper()
	t.Setenv(asRank, "rank")
	list, err := Hosts(n, hosts)
	if err != nil {
		t.Fatal(err)
	}
	program, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	out, stderr = &safe{}, &safe{}
	return &Launch{
		Program: program, Args: args, Hosts: list, Dir: t.TempDir(), Secret: []byte("secret of the run"), Remote: SSH{}, Out: out, Err: stderr,
		Patience: 20 * time.Second, // a loaded machine is slow
	}, out, stderr
}

// everywhere runs a test with ranks of this machine and with ranks by ssh.
func everywhere(t *testing.T, n int, test func(t *testing.T, hosts string)) {
	t.Run("here", func(t *testing.T) { test(t, "") })
	t.Run("ssh", func(t *testing.T) { fakeSSH(t); test(t, fmt.Sprintf("h[0-%d]", n-1)) })
}

func TestRanksAreToldTheirPlace(t *testing.T) {
	l, out, _ := launch(t, 2, "", "place", "args", "it's $HOME; exit 1", "sleep:0")
	l.Args[2] = "out:it's $HOME; `exit 1` \"\n*"
	if err := l.Run(); err != nil {
		t.Fatal(err)
	}
	host := thisHost()
	for r := range 2 {
		want := regexp.MustCompile(fmt.Sprintf(`(?m)^\[%d %s\] %d/2 %d/2 127\.0\.0\.1:\d+ <nil> secret of the run$`, r, regexp.QuoteMeta(host), r, r))
		if !want.MatchString(out.String()) {
			t.Errorf("%s\ndoes not match %v", out, want)
		}
	}
	fakeSSH(t)
	l.Hosts, l.Port = []string{"a", "b", "b"}, 77
	l.Out = &safe{}
	if err := l.Run(); err != nil {
		t.Fatal(err)
	}
	text := l.Out.(*safe).String()
	for _, want := range []string{
		"[0 a] 0/3 0/1 a:77 <nil> secret of the run\n", "[1 b] 1/3 0/2 a:77 <nil> secret of the run\n", "[2 b] 2/3 1/2 a:77 <nil> secret of the run\n",
		"[1 b] " + fmt.Sprintf("%q", l.Args) + "\n", "[2 b] it's $HOME; `exit 1` \"\n[2 b] *\n",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("%s\ndoes not have %q", text, want)
		}
	}
}

func TestWholeLines(t *testing.T) {
	l, out, _ := launch(t, 3, "", "many:2000", "part:no end")
	if err := l.Run(); err != nil {
		t.Fatal(err)
	}
	count := map[string]int{}
	line := regexp.MustCompile(`^\[(\d) \S+\] (?:line (\d+) of rank (\d)|no end)\n$`)
	for text := range strings.Lines(out.String()) {
		m := line.FindStringSubmatch(text)
		if m == nil || m[3] != "" && (m[1] != m[3] || m[2] != strconv.Itoa(count[m[1]])) {
			t.Fatalf("%q, after %d lines of that rank", text, count[m[1]])
		}
		count[m[1]]++
	}
	if len(count) != 3 || count["0"] != 2001 || count["2"] != 2001 {
		t.Errorf("lines by rank: %v", count)
	}
}

func TestFaults(t *testing.T) {
	for _, tc := range []struct {
		name, args string
		rank, code int
		line       string
	}{
		{"out of memory, echo", "1/err:capgnn:-no-memory 1/exit:3 sleep:100 err:capgnn:-lost exit:4", 1, 3, "-no-memory"},
		{"killed, echo", "1/kill sleep:100 err:capgnn:-rank-1-lost exit:4", 0, 4, "-rank-1-lost"},
		{"killed, nobody notices", "1/kill obey", 1, 4, "was killed: if nobody did, its machine ran out of memory"},
		{"killed, the other hangs", "1/kill hang", 1, 4, "was killed"},
		{"without a word", "0/exit:1 sleep:300", 0, 1, "ended with exit code 1"},
		{"another line last", "0/err:capgnn:-bad-flag 0/err:more 0/exit:2", 0, 2, "-bad-flag"},
	} {
		everywhere(t, 2, func(t *testing.T, hosts string) {
			l, _, stderr := launch(t, 2, hosts, strings.Fields(strings.ReplaceAll(tc.args, "capgnn:-", "capgnn: -"))...)
			for i, a := range l.Args { // blanks separate arguments
				if a == "err:capgnn:" || strings.HasSuffix(a, "/err:capgnn:") {
					l.Args[i], l.Args[i+1] = a+" "+l.Args[i+1], "sleep:0"
				}
			}
			if strings.HasPrefix(tc.name, "killed, ") && tc.code == term.ExitLost && tc.rank == 1 { // the others do not end by themselves
				l.Patience = 200 * time.Millisecond
			}
			err := l.Run()
			var f *Failed
			if !errors.As(err, &f) || f.Rank != tc.rank || f.Code != tc.code || !strings.Contains(f.Line, tc.line) {
				t.Errorf("%s: %+v, want rank %d, code %d, %q\n%s", tc.name, f, tc.rank, tc.code, tc.line, stderr)
			}
		})
	}
}

func TestInterruptions(t *testing.T) {
	for _, tc := range []struct {
		name, part string
		signals    []os.Signal
		code       int
		line       string
	}{
		{"hung up by shell and terminal", "obey", []os.Signal{syscall.SIGHUP, syscall.SIGHUP}, term.ExitInterrupted, "interrupted, 0 more"},
		{"once", "obey", []os.Signal{os.Interrupt}, term.ExitInterrupted, "interrupted, 0 more"},
		{"twice", "hang", []os.Signal{os.Interrupt, os.Interrupt}, term.ExitInterrupted, "was killed at the second interruption"},
	} {
		everywhere(t, 2, func(t *testing.T, hosts string) {
			l, out, stderr := launch(t, 2, hosts, tc.part)
			signals := make(chan os.Signal, 2)
			l.Signals, l.MaxRestarts = signals, 3
			go func() { // ends with the test's ranks
				for strings.Count(out.String(), "ready") < 2 {
					time.Sleep(5 * time.Millisecond)
				}
				for _, s := range tc.signals {
					signals <- s
				}
			}()
			err := l.Run()
			var f *Failed
			if !errors.As(err, &f) || f.Code != tc.code || !strings.Contains(f.Line, tc.line) || strings.Contains(stderr.String(), "start 1 of") {
				t.Errorf("%s: %+v, want code %d, %q\n%s", tc.name, f, tc.code, tc.line, stderr)
			}
		})
	}
}

func TestRestarts(t *testing.T) {
	everywhere(t, 2, func(t *testing.T, hosts string) {
		l, out, stderr := launch(t, 2, hosts, "1/once:"+filepath.Join(t.TempDir(), "mark"), "out:first")
		l.MaxRestarts = 1
		l.Again = func(args []string) []string { return append(args[:1:1], "out:second") }
		err := l.Run()
		if want := "restart 1 of 1\n"; err != nil || strings.Count(out.String(), "second") != 2 || !strings.Contains(stderr.String(), want) {
			t.Errorf("%v\n%s\n%s", err, out, stderr)
		}
	})
	for args, starts := range map[string]int{"exit:4": 3, "exit:2": 1, "exit:3": 1, "exit:130": 1, "kill": 3} {
		l, out, _ := launch(t, 1, "", "out:begin", args)
		l.MaxRestarts = 2
		var f *Failed
		if err := l.Run(); !errors.As(err, &f) || strings.Count(out.String(), "begin") != starts {
			t.Errorf("%s: %v\n%s", args, err, out)
		}
	}
}

func TestProgramThatIsNotThere(t *testing.T) {
	l, _, _ := launch(t, 2, "", "hang")
	l.Program = filepath.Join(t.TempDir(), "none")
	if err := l.Run(); err == nil || !strings.Contains(err.Error(), "start rank 0 on host "+thisHost()) {
		t.Error(err)
	}
}

// What a shell says of a folder or a program that is not there ends the run before a rank has begun.
func TestOtherMachineIsNotPrepared(t *testing.T) {
	fakeSSH(t)
	for name, change := range map[string]func(l *Launch){
		"folder":  func(l *Launch) { l.Dir = filepath.Join(l.Dir, "no one's") },
		"program": func(l *Launch) { l.Program = filepath.Join(l.Dir, "no one's") },
		"host":    func(l *Launch) { l.Hosts[1] = "gone" },
	} {
		l, out, _ := launch(t, 2, "a,b", "sleep:100", "out:begun")
		change(l)
		want := map[string]string{"folder": "no one's", "program": "no one's", "host": "the connection of ssh ended: ssh: connect to host gone port 22: No route to host"}[name]
		var f *Failed
		if err := l.Run(); !errors.As(err, &f) || !strings.Contains(f.Line, want) || name != "host" && strings.Contains(out.String(), "begun") {
			t.Errorf("%s: %v, want %q", name, err, want)
		}
	}
}

func TestCheckPrograms(t *testing.T) {
	fakeSSH(t)
	l, _, _ := launch(t, 3, "a,b,arm")
	here := term.ReadBuildInfo()
	if err := l.CheckPrograms(t.Context(), here); err != nil {
		t.Error(err)
	}
	l.Hosts = []string{"", ""}
	if err := l.CheckPrograms(t.Context(), here); err != nil {
		t.Error(err)
	}
	for host, says := range map[string]string{
		"old":   "ask host old for its program: it has capgnn " + here.Version + " commit 0123abc",
		"gone":  "ask host gone for its program: ssh: connect to host gone port 22: No route to host (exit status 255): make `ssh gone true` work",
		"prose": "is no capgnn: copy this program there: scp " + l.Program + " prose:" + l.Program,
	} {
		l.Hosts = []string{"a", host, host}
		err := l.CheckPrograms(t.Context(), here)
		if term.ExitCode(err) != term.ExitUsage || !strings.Contains(err.Error(), says) || strings.Count(err.Error(), "ask host") != 1 {
			t.Errorf("%s: %v, want %q", host, err, says)
		}
	}
	l.Hosts = []string{"gone", "old"}
	if err := l.CheckPrograms(t.Context(), here); err == nil || strings.Count(term.OneLine(err), "ask host") != 2 || strings.Contains(term.OneLine(err), "\n") {
		t.Error(err)
	}
	l.Hosts, l.Program = []string{"a"}, filepath.Join(t.TempDir(), "no one's")
	if err := l.CheckPrograms(t.Context(), here); err == nil || !strings.Contains(err.Error(), l.Program+" is not there: copy this program there") {
		t.Error(err)
	}
}

// Without ssh there is one line, of all machines.
func TestCheckProgramsWithoutSSH(t *testing.T) {
	t.Setenv("PATH", t.TempDir())
	l := &Launch{Program: "/opt/capgnn", Hosts: []string{"a", "b"}, Remote: SSH{}}
	err := l.CheckPrograms(t.Context(), term.BuildInfo{})
	if term.ExitCode(err) != term.ExitUsage || !strings.HasPrefix(term.OneLine(err), `start ranks on other machines: exec: "ssh": `) || strings.Count(err.Error(), "ssh\"") != 1 {
		t.Error(err)
	}
}
