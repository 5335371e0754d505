package ranks_test

import (
	"net"
	"os"
	"strings"
	"testing"

	"capgnn/cmd/capgnn/internal/progtest"
	"capgnn/cmd/capgnn/internal/ranks"
	"capgnn/cmd/capgnn/internal/term"
)

// badRanks is a run over ranks with something wrong.
type badRanks struct {
	name string
	n    int              // processes; 0: two
	args []string         // of all, behind those of a small run
	own  map[int][]string // of one more
	env  map[int][]string // variables of one
	port string           // of rank 0; "": a free one
	want []string         // what the last line of a rank says; the last one is for those behind it, too
	code int              // 0: wrong usage
	note string           // that rank 0 prints before; "": one line is all
	make func(s *sandbox) // what is to be there
}

// Whatever is wrong with ranks, each ends with one line that says so and the right exit code.
func TestRanksRefuseBadInput(t *testing.T) {
	secrets := []string{"CAPGNN_SECRET=" + string(ranks.NewSecret()), "CAPGNN_SECRET=" + string(ranks.NewSecret())}
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Skipf("no loopback address: %v", err)
	}
	t.Cleanup(func() { taken.Close() })
	_, takenPort, _ := net.SplitHostPort(taken.Addr().String())
	// soon is for ranks that wait for nobody; late is enough for all to start on a busy machine.
	const soon, late = "2s", "10s"
	for _, tc := range []badRanks{
		{name: "half-set source", env: map[int][]string{0: {"WORLD_SIZE="}, 1: {"MASTER_ADDR=", "MASTER_PORT="}}, want: []string{"RANK, MASTER_ADDR and MASTER_PORT are set, but not WORLD_SIZE: set all, or none", "RANK and WORLD_SIZE are set, but not MASTER_ADDR"}},
		{name: "half-set flags", n: 1, args: []string{"--ranks", "2,rank=0"}, want: []string{"--ranks rank and --ranks are set, but not --ranks master"}},
		{name: "rank too large", n: 1, env: map[int][]string{0: {"RANK=1"}}, want: []string{`RANK="1" is no rank: with WORLD_SIZE=1 ranks are 0 to 0`}},
		{name: "one number twice", n: 3, env: map[int][]string{2: {"RANK=1"}}, want: []string{"two processes call themselves rank 1: one on host "}},
		{name: "port taken", args: []string{"--transport", "join-timeout=" + soon + ",peer-timeout=1s"}, port: takenPort, want: []string{"listen for ranks: listen tcp 127.0.0.1:" + takenPort + ": bind: address already in use: another program, or another rank 0, listens there", "rank 1 did not reach rank 0 at 127.0.0.1:" + takenPort + " within 2s"}},
		{name: "name without address", args: []string{"--transport", "join-timeout=" + soon}, env: map[int][]string{0: {"MASTER_ADDR=nowhere.invalid"}, 1: {"MASTER_ADDR=nowhere.invalid"}}, want: []string{"nowhere.invalid"}},
		{name: "missing rank", n: 3, env: map[int][]string{2: {"RANK=0", "WORLD_SIZE=1", "MASTER_ADDR=127.0.0.1"}}, args: []string{"--transport", "join-timeout=6s"}, note: "rank 0 waits at 127.0.0.1:",
			want: []string{"rank 2 of 3 did not join at 127.0.0.1:", "rank 2 of 3 did not join at 127.0.0.1:", ""}},
		{name: "other number of ranks", env: map[int][]string{1: {"WORLD_SIZE=3"}}, want: []string{"was started as one of 3 ranks, rank 0 as one of 2"}},
		{name: "other data", own: map[int][]string{1: {"--dataset", "other.npz"}}, want: []string{"SHA-256 of the data set of rank 1 (host "}},
		{name: "other option", own: map[int][]string{1: {"--lr", "0.02"}}, want: []string{"--lr of rank 1 (host "}},
		{name: "other transport", own: map[int][]string{1: {"--transport", "tcp-plain"}}, want: []string{" is tcp-plain, of rank 0 it is tcp: start all ranks with the same options"}},
		{name: "wrong secret", args: []string{"--transport", "join-timeout=" + late}, env: map[int][]string{0: secrets[:1], 1: secrets[1:]}, want: []string{"rank 1 of 2 did not join at ", "the other side has another secret: give all ranks the same file"}},
		{name: "weak secret", env: map[int][]string{0: {"CAPGNN_SECRET=" + strings.Repeat("password", 4)}, 1: {"CAPGNN_SECRET=" + strings.Repeat("x", 40)}}, want: []string{"CAPGNN_SECRET: is too easy to guess"}},
		{name: "another user", args: []string{"--transport", "join-timeout=" + late}, env: map[int][]string{1: {"TMPDIR=other"}}, make: func(s *sandbox) { // where that user's secret is
			if err := os.Mkdir(s.Path("other"), 0o700); err != nil {
				s.T.Fatal(err)
			}
		}, want: []string{"rank 1 of 2 did not join at ", "the other side has another secret: give all ranks the same file"}},
		{name: "short secret", args: []string{"--transport", "secret=short"}, want: []string{"--transport secret: short has 5 bytes"}},
		{name: "empty secret", args: []string{"--transport", "secret="}, want: []string{"--transport secret= is empty: give it a value, or leave it out"}},
		{name: "open secret", args: []string{"--transport", "secret=open"}, want: []string{"--transport secret: open "}},
		{name: "no secret", env: map[int][]string{0: {"MASTER_ADDR=192.0.2.1"}, 1: {"MASTER_ADDR=192.0.2.1"}}, want: []string{"there is no secret, which ranks of several machines need: `capgnn doctor --cluster` makes one"}},
		{name: "more ranks than parts", n: 3, args: []string{"--parts", "2"}, want: []string{"--parts 2: 2 parts cannot be spread over 3 ranks, each has at least one: raise their number to 3, or start fewer ranks"}},
		{name: "more ranks than chunks", n: 3, args: []string{"--isolated=chunks=2"}, want: []string{"--isolated=chunks=2: 2 parts cannot be spread over 3 ranks, each has at least one: raise their number to 3, or start fewer ranks"}},
		{name: "no such device", own: map[int][]string{1: {"--devices", "cuda:7"}}, want: []string{": --devices: cuda:7"}},
		{name: "simulated device", args: []string{"--devices", "sim:a40"}, want: []string{"simulated devices have one clock, in one process: over several ranks name real ones"}},
		{name: "run folder", args: []string{"--run-dir", "ok.npz/run"}, want: []string{"rank 0 (host "}},
		{name: "run there", args: []string{"--run-dir", "."}, make: func(s *sandbox) { s.Put("config.yaml", []byte("lr: 1\n")) }, want: []string{"--run-dir . already holds a run"}},
		{name: "lost data", own: map[int][]string{1: {"--dataset", "nowhere.npz"}}, want: []string{"rank 1 (host "}},
		{name: "does not fit", own: map[int][]string{1: {"--devices", "cpu:0,mem=1KiB"}}, want: []string{"rank 1 (host "}, code: term.ExitDoesNotFit},
	} {
		t.Run(tc.name, func(t *testing.T) { t.Parallel(); tc.check(t) })
	}
}

// check starts the ranks and looks at how each ended.
func (tc badRanks) check(t *testing.T) {
	s := newSandbox(t)
	st := progtest.NewStore()
	st.Write(s.Sandbox, "ok.npz")
	st["x"].Data.([]float32)[0] = 7
	st.Write(s.Sandbox, "other.npz")
	for name, mode := range map[string]os.FileMode{"short": 0o600, "open": 0o644} {
		s.Put(name, []byte("abcde"))
		if err := os.Chmod(s.Path(name), mode); err != nil {
			t.Fatal(err)
		}
	}
	if tc.make != nil {
		tc.make(s)
	}
	if tc.n == 0 {
		tc.n = 2
	}
	if tc.code == 0 {
		tc.code = term.ExitUsage
	}
	run := progtest.RankRun{Sandbox: s.Sandbox, Args: append([]string{"--dataset", "ok.npz", "--epochs", "2", "--hidden", "8", "--devices", "cpu:0"}, tc.args...), Port: tc.port,
		Own: func(rank int) []string { return tc.own[rank] }, Env: func(rank int) []string { return tc.env[rank] }}
	if tc.note == "" {
		run.Args = append(run.Args, "--quiet")
	}
	for rank, e := range run.Over(tc.n) {
		want := tc.want[min(rank, len(tc.want)-1)]
		if want == "" {
			continue // it only stands for one that is not there
		}
		if e.Code != tc.code || !strings.HasPrefix(e.Last(), "capgnn: ") || !strings.Contains(e.Last(), want) || e.Out != "" {
			t.Errorf("rank %d: exit code %d, want %d and a line with %q\n%s%s", rank, e.Code, tc.code, want, e.Out, e.Err)
		}
		if tc.note == "" && strings.Count(e.Err, "\n") != 1 || rank == 0 && !strings.Contains(e.Err, tc.note) {
			t.Errorf("rank %d: more than one line, or no %q before it\n%s", rank, tc.note, e.Err)
		}
	}
}

// Commands that one process does alone do not look at the variables of those who start ranks.
func TestOtherCommandsIgnoreTheirPlace(t *testing.T) {
	s := newSandbox(t)
	progtest.NewStore().Write(s.Sandbox, "ok.npz")
	for _, env := range []string{"RANK", "WORLD_SIZE", "OMPI_COMM_WORLD_RANK", "PMI_RANK"} {
		t.Setenv(env, "1") // half set, or a rank that is not there
	}
	for _, args := range [][]string{{"version"}, {"data", "list"}, {"data", "info", "ok.npz"}, {"train", "--help"}, {"completion", "bash"},
		{"partition", "--dataset", "ok.npz", "--parts", "2", "--quiet"}, {"plan", "--dataset", "ok.npz", "--quiet"}} {
		s.Must(args...)
	}
	s.Fails(term.ExitUsage, []string{" set, but not "}, "train", "--dataset", "ok.npz", "--quiet")
}
