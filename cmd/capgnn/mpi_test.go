//go:build mpi && linux

package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"capgnn/cluster/mpi/fakempi"
	"capgnn/cmd/capgnn/internal/progtest"
)

// overFakes makes a run one over a fake libmpi: its ranks, of which there are n, find a library each.
func overFakes(r progtest.RankRun, n int, o fakempi.Options) progtest.RankRun {
	files := fakempi.Libraries(r.T, n, o)
	r.Args = append(r.Args[:len(r.Args):len(r.Args)], "--transport", "mpi")
	r.Env = func(rank int) []string { return []string{"CAPGNN_LIBMPI=" + files[rank]} }
	return r
}

// Whatever MPI does with messages, rows are the same as over TCP: the weights have the bits of one process.
func TestTrainOverMPI(t *testing.T) {
	t.Parallel()
	s := newSandbox(t)
	newStore().write(s, "ok.npz")
	for k, model := range []string{"gcn", "gat", "sage"} {
		args := []string{"--dataset", "ok.npz", "--model", model, "--hidden", "8", "--epochs", "6", "--eval-every", "2", "--quiet"}
		if model == "sage" {
			args = append(args, "--batch-size", "4", "--sampling", "hopgnn,merge=off,fetch=planned")
		}
		want := s.train(append(args, "--devices", progtest.CPUs(3), "--run-dir", "alone-"+model)...)
		for n := 2; n <= 3; n++ {
			dir := fmt.Sprint(model, n)
			run := progtest.RankRun{Sandbox: s.Sandbox, Args: append(args, "--json", "--run-dir", dir), Own: func(rank int) []string {
				if n == 2 && rank == 0 {
					return []string{"--devices", progtest.CPUs(2)}
				}
				return []string{"--devices", progtest.CPUs(1)}
			}}
			all := overFakes(run, n, tempers[(k+n)%2]).Over(n)
			for r, e := range all {
				if e.Code != 0 {
					t.Fatalf("%s: rank %d ends with exit code %d: %s", dir, r, e.Code, e.Err)
				}
			}
			if got := readResultLine(t, all[0].Out); got.SHA256 != want.SHA256 {
				t.Errorf("%s: weights %s, those of one process %s", dir, got.SHA256, want.SHA256)
			}
		}
	}
}

// tempers are how a fake libmpi behaves.
var tempers = []fakempi.Options{
	{Config: map[string]int{"late": 9, "shuffle": 1}},
	{MPICH: true, Config: map[string]int{"ring": 300, "late": 3}},
}

// A rank that is killed ends the other with exit code 4 and a line that names it; what the two resume has the bits of a run that nobody disturbed.
func TestKilledOverMPI(t *testing.T) {
	t.Parallel()
	s := newSandbox(t)
	newStore().write(s, "ok.npz")
	args := []string{"--dataset", "ok.npz", "--hidden", "8", "--epochs", "400", "--eval-every", "50", "--checkpoint-every", "5", "--quiet"}
	want := s.train(append(args, "--devices", progtest.CPUs(2), "--run-dir", "alone")...)
	run := progtest.RankRun{Sandbox: s.Sandbox, Args: append(args, "--devices", progtest.CPUs(1), "--run-dir", "run")}
	all := overFakes(run, 2, tempers[0]).Start(2)
	waitForCheckpoint(t, s, "run")
	if err := all[1].Process.Kill(); err != nil {
		t.Fatal(err)
	}
	if e := all[0].End(); e.Code != 4 || !strings.Contains(e.Last(), "capgnn: rank 1 (host ") || !strings.Contains(e.Last(), " lost in epoch ") {
		t.Errorf("rank 0 ends with exit code %d: %s", e.Code, e.Err)
	}
	all[1].End()
	run.Args = []string{"--dataset", "ok.npz", "--resume", "run", "--devices", progtest.CPUs(1), "--json", "--quiet"}
	again := overFakes(run, 2, tempers[1]).Over(2)
	if again[0].Code != 0 {
		t.Fatalf("resumed: exit code %d: %s", again[0].Code, again[0].Err)
	}
	if got := readResultLine(t, again[0].Out); got.SHA256 != want.SHA256 {
		t.Errorf("weights %s, those of a run that nobody disturbed %s", got.SHA256, want.SHA256)
	}
}

// waitForCheckpoint waits until a run has one.
func waitForCheckpoint(t *testing.T, s *sandbox, dir string) {
	t.Helper()
	for end := time.Now().Add(30 * time.Second); time.Now().Before(end); time.Sleep(10 * time.Millisecond) {
		if found, _ := filepath.Glob(s.path(dir + "/checkpoint/*")); len(found) > 0 {
			return
		}
	}
	t.Fatal("no checkpoint within 30 s")
}

// What cannot be is one line and exit code 2, at each rank.
func TestMPIRefuses(t *testing.T) {
	t.Parallel()
	s := newSandbox(t)
	newStore().write(s, "ok.npz")
	run := progtest.RankRun{Sandbox: s.Sandbox, Args: []string{"--dataset", "ok.npz", "--quiet", "--transport", "mpi"}}
	three := fakempi.Libraries(t, 3, fakempi.Options{})
	for _, tc := range []struct {
		name string
		env  func(rank int) []string
		want string
	}{
		{"no launcher", func(int) []string { return nil }, "--transport mpi: no MPI started this process: start ranks with mpirun, or with srun --mpi=pmix"},
		{"no library", func(int) []string { return []string{"CAPGNN_LIBMPI=/nowhere.so"} }, "--transport mpi: open the MPI library /nowhere.so: "},
		{"no libmpi", func(int) []string { return []string{"CAPGNN_LIBMPI=libc.so.6"} }, "--transport mpi: open the MPI library libc.so.6: it has no MPI_"},
		{"other ranks", func(rank int) []string { return []string{"CAPGNN_LIBMPI=" + three[rank]} },
			"--transport mpi: Open MPI (fake-%d-of-3.so) says that this is rank %[1]d of 3, torchrun rank %[1]d of 2: start ranks with its own mpirun"},
	} {
		run.Env = tc.env
		for r, e := range run.Over(2) {
			want := "capgnn: " + tc.want
			if strings.Contains(want, "%d") {
				want = fmt.Sprintf(want, r)
			}
			if e.Code != 2 || !strings.HasPrefix(e.Err, want) || strings.Count(e.Err, "\n") != 1 {
				t.Errorf("%s: rank %d ends with exit code %d: %s", tc.name, r, e.Code, e.Err)
			}
		}
	}
}

// A process that nobody started as a rank does not train alone where its user meant several.
func TestMPIWithoutRanks(t *testing.T) {
	t.Parallel()
	s := newSandbox(t)
	newStore().write(s, "ok.npz")
	_, stderr, code := s.run("train", "--dataset", "ok.npz", "--transport", "mpi")
	if want := "capgnn: --transport mpi: no MPI started this process: start ranks with mpirun, or with srun --mpi=pmix\n"; code != 2 || stderr != want {
		t.Errorf("exit code %d: %s", code, stderr)
	}
}

// A rank whose MPI fails ends all with exit code 4 and MPI's words.
func TestMPIFailsInTraining(t *testing.T) {
	t.Parallel()
	s := newSandbox(t)
	newStore().write(s, "ok.npz")
	run := progtest.RankRun{Sandbox: s.Sandbox, Args: []string{"--dataset", "ok.npz", "--epochs", "100000", "--devices", progtest.CPUs(1), "--quiet", "--run-dir", "run"}}
	for r, e := range overFakes(run, 2, fakempi.Options{Config: map[string]int{"failsend": 500}}).Over(2) {
		if e.Code != 4 || !strings.Contains(e.Last(), "MPI: MPI_ERR_OTHER: injected") {
			t.Errorf("rank %d ends with exit code %d: %s", r, e.Code, e.Err)
		}
	}
}

// engines are the launchers that may be here, and whether they end the ranks that are left so fast that these cannot say anything.
var engines = []struct {
	name    string
	command []string
	mute    bool
}{
	{"Open MPI", []string{"mpirun.openmpi", "--oversubscribe"}, false},
	{"MPICH", []string{"mpiexec.hydra"}, true},
}

// under returns a command that trains over n ranks which an engine starts; skipped where it is not here.
func under(t *testing.T, s *sandbox, engine []string, n int, args ...string) *exec.Cmd {
	t.Helper()
	path, err := exec.LookPath(engine[0])
	if err != nil {
		t.Skipf("%s is not here", engine[0])
	}
	all := append(append(engine[1:len(engine):len(engine)], "-n", strconv.Itoa(n), progtest.Program, "train", "--transport", "mpi", "--devices", progtest.CPUs(1)), args...)
	cmd := s.command()
	cmd.Path, cmd.Args = path, append([]string{path}, all...)
	cmd.Env = append(cmd.Env, "PATH="+os.Getenv("PATH"), "OMPI_ALLOW_RUN_AS_ROOT=1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1", "MASTER_PORT="+progtest.FreePort(t))
	return cmd
}

// Real MPI trains the same bits as TCP.
func TestTrainUnderMPIEngines(t *testing.T) {
	s := newSandbox(t)
	newStore().write(s, "ok.npz")
	args := []string{"--dataset", "ok.npz", "--hidden", "8", "--epochs", "6", "--quiet"}
	for _, engine := range engines {
		for n := 2; n <= 3; n++ {
			t.Run(fmt.Sprint(engine.name, n), func(t *testing.T) {
				dir := fmt.Sprint(engine.command[0], n)
				cmd := under(t, s, engine.command, n, append(args, "--json", "--run-dir", dir)...)
				cmd.Stderr = os.Stderr
				out, err := cmd.Output()
				if err != nil {
					t.Fatal(err)
				}
				want := s.train(append(args, "--devices", progtest.CPUs(n), "--run-dir", dir+"-alone")...)
				if got := readResultLine(t, string(out)); got.SHA256 != want.SHA256 {
					t.Errorf("weights %s, those of one process %s", got.SHA256, want.SHA256)
				}
			})
		}
	}
}

// A rank that is killed under a real MPI ends the others. The exit code is the engine's; the line that names the rank is ours, where the engine gives
// time for it.
func TestKilledUnderMPIEngines(t *testing.T) {
	s := newSandbox(t)
	newStore().write(s, "ok.npz")
	for _, engine := range engines {
		t.Run(engine.name, func(t *testing.T) {
			dir := engine.command[0]
			cmd := under(t, s, engine.command, 2, "--dataset", "ok.npz", "--hidden", "8", "--epochs", "3000", "--eval-every", "100", "--checkpoint-every", "5", "--quiet", "--run-dir", dir)
			var out strings.Builder
			cmd.Stdout, cmd.Stderr = &out, &out
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			waitForCheckpoint(t, s, dir)
			victim := rankOne(dir)
			if victim == 0 {
				_ = cmd.Process.Kill()
				t.Fatalf("no rank 1: %s", out.String())
			}
			if err := syscall.Kill(victim, syscall.SIGKILL); err != nil {
				t.Fatal(err)
			}
			start := time.Now()
			_ = cmd.Wait() // the exit code says it
			t.Logf("exit code %d after %v:\n%s", cmd.ProcessState.ExitCode(), time.Since(start).Round(time.Millisecond), out.String())
			line := regexp.MustCompile(`(?m)^capgnn: rank 1 \(host [^)]+\) lost in epoch \d+: connection (closed|reset)`)
			if cmd.ProcessState.ExitCode() == 0 || !engine.mute && !line.MatchString(out.String()) {
				t.Errorf("exit code %d, without our line", cmd.ProcessState.ExitCode())
			}
		})
	}
}

// rankOne returns the process of rank 1 of a run, 0 if it is not there.
func rankOne(dir string) int {
	all, _ := filepath.Glob("/proc/[0-9]*/cmdline")
	for _, file := range all {
		cmdline, _ := os.ReadFile(file)
		words := strings.Split(string(cmdline), "\x00")
		if words[0] != progtest.Program || !strings.Contains(string(cmdline), "\x00"+dir+"\x00") {
			continue
		}
		env, _ := os.ReadFile(filepath.Dir(file) + "/environ")
		if strings.Contains("\x00"+string(env), "\x00OMPI_COMM_WORLD_RANK=1\x00") || strings.Contains("\x00"+string(env), "\x00PMI_RANK=1\x00") {
			pid, _ := strconv.Atoi(filepath.Base(filepath.Dir(file)))
			return pid
		}
	}
	return 0
}
