package ranks_test

import (
	"bytes"
	"os"
	"regexp"
	"strings"
	"testing"

	"capgnn/cmd/capgnn/internal/progtest"
	"capgnn/cmd/capgnn/internal/term"
)

// launch trains as one process with as many devices does: the result is printed alike, notes have their rank in front.
func TestLaunch(t *testing.T) {
	s := newSandbox(t)
	progtest.NewStore().Write(s.Sandbox, "ok.npz")
	args := []string{"--dataset", "ok.npz", "--hidden", "8", "--epochs", "4"}
	want := s.Train(append(args, "--devices", progtest.CPUs(2))...)
	stdout, stderr, code := s.Run(append([]string{"launch", "-n", "2", "--json", "--", "train", "--devices", progtest.CPUs(1)}, args...)...)
	if code != 0 {
		t.Fatalf("exit code %d\n%s", code, stderr)
	}
	if got := progtest.ReadResultLine(t, stdout); got.SHA256 != want.SHA256 || strings.Count(stdout, "\n") != 1 {
		t.Errorf("weights %s, alone %s; it prints\n%s", got.SHA256, want.SHA256, stdout)
	}
	for line := range strings.Lines(stderr) {
		if !regexp.MustCompile(`^\[0 \S+\] .`).MatchString(line) {
			t.Errorf("line without its rank, or of another one than 0: %q", line)
		}
	}
	s.Must("launch", "-n", "2", "--quiet", "--", "predict", "--run", want.RunDir, "--devices", progtest.CPUs(1), "--out", "two.npy")
	s.Must("predict", "--quiet", "--run", want.RunDir, "--devices", progtest.CPUs(2), "--out", "one.npy")
	one, err := os.ReadFile(s.Path("one.npy"))
	if err != nil {
		t.Fatal(err)
	}
	if two, err := os.ReadFile(s.Path("two.npy")); err != nil || !bytes.Equal(one, two) {
		t.Errorf("two ranks predict something else than one process (%v)", err)
	}
	stdout, stderr, code = s.Run("launch", "-n", "2", "train", "--dataset", "nowhere", "--quiet") // without --
	lines := strings.Split(strings.TrimSuffix(stderr, "\n"), "\n")
	if code != term.ExitUsage || stdout != "" || len(lines) != 3 || !strings.HasPrefix(lines[2], "capgnn: rank 0 (host ") || !strings.Contains(lines[2], "--dataset nowhere") {
		t.Errorf("exit code %d\n%s%s", code, stdout, stderr)
	}
}

// What is wrong with a launch is said before anything is started.
func TestLaunchRefuses(t *testing.T) {
	s := newSandbox(t)
	for _, tc := range []struct {
		args string
		want string
	}{
		{"launch", "name a command behind --, one of train, predict, doctor, profile: `capgnn launch -n 2 -- train ...`"},
		{"launch -n 2 -- data list", "name a command behind --"},
		{"launch -n 2 -- profile", "profile measures one machine: add --cluster behind it"},
		{"launch -- train", "-n 0: give the number of ranks, from 1"},
		{"launch -n -3 -- train", "-n -3: give the number of ranks"},
		{"launch -n x -- train", `--n: "x" is not a whole number`},
		{"launch -n 2 -- train --ranks rank=1", "--ranks behind train: launch tells each rank its place: drop it"},
		{"launch -n 2 -- train --ranks=master=a", "--ranks behind train"},
		{"launch -n 2 --port 99999 -- train", "--port 99999 is no number from 1 to 65535"},
		{"launch -n 2 --port 0 -- train", "--port 0 is no number"},
		{"launch -n 2 --max-restarts 3 -- train --dataset x", "--max-restarts 3: name the run's folder with --run-dir behind train"},
		{"launch -n 2 --max-restarts -1 -- train", "--max-restarts -1 is below 0"},
		{"launch --hosts a,localhost -- train", "--hosts a,localhost: localhost is another machine for each of them"},
		{"launch -n 1 --hosts a,b -- train", "--hosts a,b: 2 machines for 1 rank: "},
		{"launch -n 2 --turbo -- train", "no flag --turbo"},
	} {
		s.Fails(term.ExitUsage, []string{tc.want}, strings.Fields(tc.args)...)
	}
}
