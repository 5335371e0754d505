//go:build mpi && linux

package mpi

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// idleFor and silences are what TestIdleEngines measures: how long ranks do nothing, and after which silences a message goes there and back.
const idleFor = 3 * time.Second

var silences = []time.Duration{0, 2 * time.Millisecond, 10 * time.Millisecond, 30 * time.Millisecond, 100 * time.Millisecond}

// Two ranks that do nothing take at most 5 % of a core each, whichever MPI has started them, and a message comes after a long silence
// within the pause that this allows.
func TestIdleEngines(t *testing.T) {
	const variable = "CAPGNN_TEST_IDLE"
	if os.Getenv(variable) != "" {
		if err := idle(); err != nil {
			fmt.Println(err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	for _, engine := range [][]string{{"mpirun.openmpi", "--oversubscribe"}, {"mpiexec.hydra"}} {
		t.Run(engine[0], func(t *testing.T) {
			path, err := exec.LookPath(engine[0])
			if err != nil {
				t.Skipf("%s is not here", engine[0])
			}
			cmd := exec.Command(path, append(engine[1:], "-n", "2", os.Args[0], "-test.run", "^TestIdleEngines$")...)
			cmd.Env = append(os.Environ(), variable+"=1", "OMPI_ALLOW_RUN_AS_ROOT=1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1")
			out, err := cmd.CombinedOutput()
			if err != nil {
				t.Fatalf("%v\n%s", err, out)
			}
			t.Logf("\n%s", out)
			ranks := 0
			for line := range strings.Lines(string(out)) {
				text, found := strings.CutPrefix(strings.TrimSpace(line), "of a core, %: ")
				if !found {
					continue
				}
				ranks++
				if percent, err := strconv.ParseFloat(text, 64); err != nil || percent > 5 {
					t.Errorf("an idle rank takes %s %% of a core", text)
				}
			}
			if ranks != 2 {
				t.Errorf("%d ranks said what they take", ranks)
			}
		})
	}
}

// idle is one of the ranks.
func idle() error {
	family, _ := Launcher(os.Getenv)
	w, err := Open(context.Background(), Options{Launcher: family})
	if err != nil {
		return err
	}
	c := w.Conn(1 - w.Rank())
	if err := pingPong(w.Rank(), c); err != nil { // all has begun
		return err
	}
	before := taken()
	time.Sleep(idleFor)
	percent := 100 * float64(taken()-before) / float64(idleFor)
	fmt.Printf("of a core, %%: %.2f\n", percent)
	for _, silence := range silences {
		var times []time.Duration
		for range 41 {
			if w.Rank() == 0 {
				time.Sleep(silence)
			}
			start := time.Now()
			if err := pingPong(w.Rank(), c); err != nil {
				return err
			}
			times = append(times, time.Since(start))
		}
		if slices.Sort(times); w.Rank() == 0 {
			fmt.Printf("there and back after %v: median %v, 9 of 10 within %v\n", silence, times[20].Round(time.Microsecond), times[36].Round(time.Microsecond))
		}
	}
	return w.Close(true, 10*time.Second)
}

// pingPong sends a byte from rank 0 to rank 1 and back.
func pingPong(rank int, c io.ReadWriter) error {
	b := make([]byte, 1)
	steps := []func([]byte) (int, error){c.Write, func(b []byte) (int, error) { return io.ReadFull(c, b) }}
	if rank == 1 {
		slices.Reverse(steps)
	}
	for _, step := range steps {
		if _, err := step(b); err != nil {
			return err
		}
	}
	return nil
}

// taken is the processor time of this process.
func taken() time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		panic(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
