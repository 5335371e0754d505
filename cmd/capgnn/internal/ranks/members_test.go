package ranks

import (
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/urfave/cli/v2"

	"capgnn/cluster"
	"capgnn/cmd/capgnn/internal/runfolder"
	"capgnn/cmd/capgnn/internal/term"
)

// among runs f as every one of n ranks that have joined over loopback, and returns what each of them returned.
func among(t *testing.T, n int, f func(m *Members) error) []error {
	t.Helper()
	port, err := freePort()
	if err != nil {
		t.Skipf("no loopback address: %v", err)
	}
	errs := make([]error, n)
	var all sync.WaitGroup
	for rank := range n {
		s := Settings{Place: cluster.Place{Rank: rank, Ranks: n, Master: net.JoinHostPort("127.0.0.1", strconv.Itoa(port))},
			JoinTimeout: 20 * time.Second, PeerTimeout: 5 * time.Second}
		all.Go(func() {
			m, err := Join(t.Context(), &term.Console{Out: io.Discard, Err: io.Discard, Quiet: true}, s, cluster.Facts{})
			if err != nil {
				errs[rank] = err
				return
			}
			errs[rank] = f(m)
			m.Close()
		})
	}
	all.Wait()
	return errs
}

// A rank that is lost while others join ends them with the exit code of a loss: the launcher starts again.
func TestLostWhileRanksJoin(t *testing.T) {
	port, err := freePort()
	if err != nil {
		t.Skipf("no loopback address: %v", err)
	}
	master := net.JoinHostPort("127.0.0.1", strconv.Itoa(port))
	line, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer line.Close()
	join := func(rank int, master string) <-chan error {
		ended := make(chan error, 1)
		go func() { // the test waits for its end
			s := Settings{Place: cluster.Place{Rank: rank, Ranks: 2, Master: master}, JoinTimeout: 20 * time.Second, PeerTimeout: 5 * time.Second}
			_, err := Join(t.Context(), &term.Console{Out: io.Discard, Err: io.Discard, Quiet: true}, s, cluster.Facts{})
			ended <- err
		}()
		return ended
	}
	first, second := join(0, master), join(1, line.Addr().String())
	here, err := line.Accept() // the control connection of rank 1, which this line carries on
	if err != nil {
		t.Fatal(err)
	}
	there, err := net.Dial("tcp", master)
	for ; err != nil; there, err = net.Dial("tcp", master) {
		time.Sleep(5 * time.Millisecond)
	}
	go func() { _, _ = io.Copy(there, here) }() // both end when the line is cut
	go func() { _, _ = io.Copy(here, there) }()
	data, err := line.Accept() // rank 1 has been told that it has joined
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []net.Conn{there, here, data} {
		c.Close()
	}
	for rank, ended := range []<-chan error{first, second} {
		want := fmt.Sprintf("rank %d (host %s) was lost while ranks joined: ", 1-rank, thisHost())
		if rank == 1 {
			want = "rank 0 was lost while ranks joined: "
		}
		if err := <-ended; term.ExitCode(err) != term.ExitLost || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("rank %d: %v (exit code %d), want a loss", rank, err, term.ExitCode(err))
		}
	}
}

// Behind a step all ranks have the same error, with its exit code, or none.
func TestRanksAgree(t *testing.T) {
	host := thisHost()
	for _, tc := range []struct {
		name string
		errs [3]error
		code int
		want string
	}{
		{name: "done"},
		{"input", [3]error{nil, term.Usagef("--dataset cora: not there"), nil}, term.ExitUsage, "rank 1 (host " + host + "): --dataset cora: not there"},
		{"lowest", [3]error{nil, &term.FitError{Err: errors.New("too large"), Remedy: "less"}, errors.New("disk")}, term.ExitDoesNotFit, "rank 1 (host " + host + "): too large; less"},
		{"all", [3]error{errors.New("a\nb"), errors.New("c"), errors.New("d")}, term.ExitFailure, "rank 0 (host " + host + `): a\nb`},
	} {
		for rank, err := range among(t, 3, func(m *Members) error { return m.Agree(t.Context(), tc.errs[m.Rank()]) }) {
			if term.ExitCode(err) != tc.code || err != nil && err.Error() != tc.want {
				t.Errorf("%s: rank %d: %v (exit code %d), want %q (%d)", tc.name, rank, err, term.ExitCode(err), tc.want, tc.code)
			}
		}
	}
}

// A rank that is interrupted ends all, though they wait in another place.
func TestInterruptedRankEndsAll(t *testing.T) {
	errs := among(t, 3, func(m *Members) error {
		switch m.Rank() {
		case 1: // its step says where it stood
			return m.Agree(t.Context(), &term.InterruptedError{Note: "before the first epoch: nothing was written"})
		case 2: // it is in a step that ends with the run
			ctx, cancel := m.Until(t.Context())
			defer cancel()
			<-ctx.Done()
			return m.Agree(t.Context(), ctx.Err())
		}
		return m.Agree(t.Context(), nil)
	})
	for rank, err := range errs {
		if term.ExitCode(err) != term.ExitInterrupted || !strings.HasPrefix(err.Error(), "interrupted: rank 1 (host ") || err.Error() != errs[0].Error() ||
			!strings.HasSuffix(err.Error(), ") was stopped before the first epoch: nothing was written") {
			t.Errorf("rank %d: %v (exit code %d)", rank, err, term.ExitCode(err))
		}
	}
}

// A rank that waits for the others in vain is interrupted, too.
func TestWaitingRankIsInterrupted(t *testing.T) {
	errs := among(t, 2, func(m *Members) error {
		ctx, cancel := m.Until(t.Context())
		defer cancel()
		if m.Rank() == 1 {
			<-ctx.Done()
			return m.Agree(ctx, nil)
		}
		time.AfterFunc(20*time.Millisecond, cancel)
		_, err := All(ctx, m, 1)
		return err
	})
	for rank, err := range errs {
		if term.ExitCode(err) != term.ExitInterrupted {
			t.Errorf("rank %d: %v (exit code %d)", rank, err, term.ExitCode(err))
		}
	}
}

// The fault of a rank ends all with one line: there with its own exit code, elsewhere as a loss.
func TestFailedRankEndsAll(t *testing.T) {
	errs := among(t, 3, func(m *Members) error {
		if m.SetEpoch(7); m.Rank() == 1 {
			return m.Fail(&term.FitError{Err: errors.New("device is full"), Remedy: "buy one"})
		}
		_, err := All(t.Context(), m, "hello")
		return m.Fail(err) // what has been said stays
	})
	for rank, err := range errs {
		code := term.ExitLost
		if rank == 1 {
			code = term.ExitDoesNotFit
		}
		if want := fmt.Sprintf("rank 1 (host %s) failed in epoch 7: device is full; buy one", thisHost()); term.ExitCode(err) != code || err.Error() != want {
			t.Errorf("rank %d: %v (exit code %d), want %q (%d)", rank, err, term.ExitCode(err), want, code)
		}
	}
}

// Ranks tell each other things, know their machine, and compare what they derive.
func TestRanksTell(t *testing.T) {
	for rank, err := range among(t, 3, func(m *Members) error {
		ctx := t.Context()
		all, err := All(ctx, m, m.Rank()*10)
		if err != nil || !slices.Equal(all, []int{0, 10, 20}) {
			return fmt.Errorf("all ranks give %v, %v", all, err)
		}
		if first, err := First(ctx, m, fmt.Sprint("of ", m.Rank())); err != nil || first != "of 0" {
			return fmt.Errorf("rank 0 gives %q, %v", first, err)
		}
		if b, err := m.FirstBytes(ctx, []byte{byte(m.Rank())}); err != nil || string(b) != "\x00" {
			return fmt.Errorf("rank 0 gives %v, %v", b, err)
		}
		if k, n := m.Local(); k != m.Rank() || n != 3 {
			return fmt.Errorf("rank %d of %d on this machine", k, n)
		}
		if err := m.Same(ctx, func(f *cluster.Facts) { f.Data = "d" }); err != nil {
			return err
		}
		if err := m.Announce(ctx, []cluster.Area{{From: 0, To: 1, Number: 5, Bytes: 100}, {From: 2, To: 0, Number: 1, Bytes: 7}}); err != nil {
			return err
		}
		return m.Same(ctx, func(f *cluster.Facts) {
			if f.Plan = "p"; m.Rank() == 2 {
				f.Plan = "q"
			}
		})
	}) {
		if want := fmt.Sprintf("plan of rank 2 (host %s) is q, of rank 0 (host %s) it is p", thisHost(), thisHost()); err == nil || !strings.HasPrefix(err.Error(), want) || term.ExitCode(err) != term.ExitUsage {
			t.Errorf("rank %d: %v (exit code %d)", rank, err, term.ExitCode(err))
		}
	}
}

// Another program, and other rows than the plan's, end all ranks before anything is computed.
func TestRanksDiffer(t *testing.T) {
	port, err := freePort()
	if err != nil {
		t.Skipf("no loopback address: %v", err)
	}
	errs := make([]error, 2)
	var all sync.WaitGroup
	for rank := range errs {
		s := Settings{Place: cluster.Place{Rank: rank, Ranks: 2, Master: net.JoinHostPort("127.0.0.1", strconv.Itoa(port))}, JoinTimeout: 20 * time.Second}
		all.Go(func() {
			_, errs[rank] = Join(t.Context(), &term.Console{Err: io.Discard, Quiet: true}, s, cluster.Facts{Version: fmt.Sprint("capgnn v", rank)})
		})
	}
	all.Wait()
	for rank, err := range errs {
		want := fmt.Sprintf("version of rank 1 (host %s) is \"capgnn v1\", of rank 0 (host %s) it is \"capgnn v0\": start the same program on all machines", thisHost(), thisHost())
		if want = strings.ReplaceAll(want, `"`, ""); err == nil || err.Error() != want || term.ExitCode(err) != term.ExitUsage {
			t.Errorf("rank %d: %v (exit code %d), want %q", rank, err, term.ExitCode(err), want)
		}
	}
	for rank, err := range among(t, 2, func(m *Members) error {
		return m.Same(t.Context(), func(f *cluster.Facts) { f.Plan, f.Layout = "p", fmt.Sprint("l", m.Rank()) })
	}) {
		if want := fmt.Sprintf("layout of rank 1 (host %s) is l1, of rank 0 (host %s) it is l0", thisHost(), thisHost()); err == nil || !strings.HasPrefix(err.Error(), want) || term.ExitCode(err) != term.ExitUsage {
			t.Errorf("rank %d: %v (exit code %d), want %q", rank, err, term.ExitCode(err), want)
		}
	}
}

// What a command's flags and the environment say of its place, and what is wrong with it.
func TestSettings(t *testing.T) {
	for _, variable := range os.Environ() { // whoever calls the tests may himself be a rank of something
		if name, _, _ := strings.Cut(variable, "="); name != "PATH" && name != "TMPDIR" {
			t.Setenv(name, "")
		}
	}
	here := []string{"--ranks", "2,rank=1,master=10.0.0.1"}
	for _, tc := range []struct {
		env  map[string]string
		args []string
		want string // rank of ranks at master, or an error
	}{
		{nil, nil, "0 of 0 at "},
		{nil, here, "1 of 2 at 10.0.0.1:29500"},
		{nil, append(here, "--ranks", "master=10.0.0.1:1234", "--transport", "tcp-plain"), "1 of 2 at 10.0.0.1:1234 plain"},
		{map[string]string{"RANK": "0", "WORLD_SIZE": "4", "MASTER_ADDR": "a", "MASTER_PORT": "7"}, nil, "0 of 4 at a:7"},
		{map[string]string{"RANK": "0", "WORLD_SIZE": "4", "MASTER_ADDR": "a"}, here, "1 of 2 at 10.0.0.1:29500"},
		{nil, []string{"--ranks", "rank=1"}, "--ranks rank is set, but not --ranks and --ranks master"},
		{map[string]string{"RANK": "0"}, nil, "RANK is set, but not WORLD_SIZE and MASTER_ADDR"},
		{map[string]string{"RANK": "4", "WORLD_SIZE": "4", "MASTER_ADDR": "a"}, nil, `RANK="4" is no rank`},
		{nil, append(here, "--transport", "pigeon"), `--transport "pigeon" is not one of tcp, tcp-plain`},
		{nil, append(here, "--transport", "join-timeout=0s"), "--transport join-timeout=0s: give a time above 0"},
		{nil, append(here, "--transport", "peer-timeout=-1s"), "--transport peer-timeout=-1s: give a time above 0"},
		{nil, append(here, "--transport", "secret=/nowhere/secret"), "--transport secret: "},
		{map[string]string{"CAPGNN_SECRET": "short"}, here, "CAPGNN_SECRET"},
		{map[string]string{"CAPGNN_SECRET": "short"}, nil, "0 of 0 at "}, // nobody asks for it
	} {
		for _, name := range []string{"RANK", "WORLD_SIZE", "MASTER_ADDR", "MASTER_PORT", "CAPGNN_SECRET", "XDG_CONFIG_HOME"} {
			t.Setenv(name, tc.env[name])
		}
		t.Setenv("HOME", t.TempDir())
		var got string
		app := &cli.App{DisableSliceFlagSeparator: true, Flags: runfolder.FlagsOf(Flags...), ExitErrHandler: func(*cli.Context, error) {}, Action: func(c *cli.Context) error {
			s, err := FromContext(c)
			if got = fmt.Sprintf("%d of %d at %s", s.Rank, s.Ranks, s.Master); s.Plain {
				got += " plain"
			}
			if s.Several() != (s.Ranks > 1) {
				t.Errorf("%v: several: %t", tc.args, s.Several())
			}
			return err
		}}
		err := app.Run(append([]string{"train"}, tc.args...))
		if err != nil {
			if got = err.Error(); term.ExitCode(err) != term.ExitUsage {
				t.Errorf("%v %v: exit code %d of %v", tc.env, tc.args, term.ExitCode(err), err)
			}
		}
		if err == nil && got != tc.want || !strings.Contains(got, tc.want) {
			t.Errorf("%v %v: %q, want %q", tc.env, tc.args, got, tc.want)
		}
	}
}
