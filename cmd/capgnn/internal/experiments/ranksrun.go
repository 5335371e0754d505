package experiments

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"gonum.org/v1/gonum/stat"

	"capgnn/cmd/capgnn/internal/runfolder"
	"capgnn/cmd/capgnn/internal/term"
	"capgnn/gpu"
	"capgnn/internal/bench"
	"capgnn/internal/regular"
	"capgnn/internal/runfile"
)

// ending is how long processes have to end that were asked to.
const ending = 20 * time.Second

// training is the cell of a run over ranks: train, by launch where this process starts the ranks, else as the one that it is. number is the cell's among those of the experiment.
func (p *rankedPlan) training(data string, w rankWay, round, number int) cell {
	return cell{p.id(data, w, round), func(ctx context.Context) (*bench.Line, error) {
		store, err := p.store(ctx, data)
		if err != nil {
			return nil, err
		}
		dir := runfolder.Dir(filepath.Join(p.opt.Out, fmt.Sprintf("run-%d", number)))
		if !p.opt.follows() { // what an interrupted command has left
			if err := os.RemoveAll(string(dir)); err != nil {
				return nil, err
			}
		}
		if err := p.start(ctx, p.arguments(store, string(dir), w, number)); err != nil || p.opt.follows() {
			return newLine(), err
		}
		l, err := p.trained(dir.Metrics())
		r, none := dir.ReadResult()
		if err = errors.Join(err, none); err == nil && r != nil {
			l.Values["peak_bytes"] = float64(r.PeakBytes.Host)
		}
		return l, errors.Join(err, os.RemoveAll(string(dir)))
	}}
}

// arguments are those of the program.
func (p *rankedPlan) arguments(store, dir string, w rankWay, number int) []string {
	o := &p.opt
	args := append([]string{"train", "--dataset", store, "--model", "sage", "--layers", strconv.Itoa(len(fanouts)), "--fanout", drawing{fanout: fanouts}.text(), "--batch-size", strconv.Itoa(p.roots * o.Ranks),
		"--epochs", strconv.Itoa(p.epochs), "--eval-every", "0", "--seed", strconv.FormatUint(o.Seeds[0], 10), "--run-dir", dir, "--quiet"}, w.flags...)
	if o.Devices != "" {
		args = append(args, "--devices", o.Devices)
	}
	if o.Place.Master == "" {
		return append([]string{"launch", "-n", strconv.Itoa(o.Ranks), "--"}, args...)
	}
	// Ports take turns: a rank may be here while another one is in the run before.
	return append(args, "--ranks", fmt.Sprintf("%d,rank=%d,master=%s", o.Ranks, o.Place.Rank, net.JoinHostPort(o.Place.Master, strconv.Itoa(o.Place.Port+number%16))))
}

// start runs the program and returns when it has ended. Its last line is the error.
func (p *rankedPlan) start(ctx context.Context, args []string) error {
	program, err := os.Executable()
	if err != nil {
		return err
	}
	var said bytes.Buffer
	cmd := exec.CommandContext(ctx, program, args...)
	cmd.Stderr, cmd.WaitDelay = &said, ending
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) }
	err = cmd.Run()
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if exit := (*exec.ExitError)(nil); errors.As(err, &exit) {
		return &term.Elsewhere{Code: exit.ExitCode(), Line: "train over ranks: " + strings.TrimPrefix(lastLine(said.Bytes(), err), "capgnn: ")}
	}
	return err
}

// meterNames name what meters say of a run: joules of an epoch, of GPUs and of processors, and how busy GPUs were.
var meterNames = []string{"GPUs, J", "processors, J", "GPUs busy, %"}

// addMeters keeps what meters say of so many epochs. A sum is known where all of its terms are.
func addMeters(l *bench.Line, meters []gpu.Metered, epochs float64) {
	gpus, packages := gpu.Metered{Joules: new(float64)}, gpu.Metered{Joules: new(float64)}
	for _, m := range meters {
		if strings.HasPrefix(m.Device, "cuda:") {
			gpus = gpus.Add(m)
		} else {
			packages = packages.Add(m)
		}
	}
	set := func(name string, of gpu.Metered, x *float64, factor float64) {
		if x != nil && of.Seconds > 0 {
			l.Values[name] = factor * *x
		}
	}
	set(meterNames[0], gpus, gpus.Joules, 1/epochs)
	set(meterNames[1], packages, packages.Joules, 1/epochs)
	set(meterNames[2], gpus, gpus.Busy, 100)
}

// trained reads what a run has left: medians of the epochs behind the first, where there are some.
func (p *rankedPlan) trained(metrics string) (*bench.Line, error) {
	f, err := regular.Open(metrics)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	epochs, err := runfile.ReadEpochs(f)
	if err == nil && len(epochs) == 0 {
		err = errors.New("no epoch")
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", metrics, err)
	}
	l := newLine()
	for i := range epochs {
		e, bytes, w := &epochs[i], 0.0, runfile.Work{}
		if e.Work != nil {
			w = *e.Work
		}
		for _, x := range e.Pairs {
			bytes += float64(x.Rows)
		}
		for name, x := range map[string]float64{"epoch_s": e.EpochS, "cpu_s": e.CPUS, "rows": float64(w.Rows.Fetched + w.Rows.Prefilled),
			"row_bytes": float64(e.Bytes.Rows), "bytes": bytes, "wait_s": w.TimeS.Wait / float64(p.opt.Ranks),
			"processors": e.CPUS / e.EpochS / float64(p.opt.Ranks), "busy": 100 * w.TimeS.Compute / e.EpochS / float64(max(1, len(e.PartWork)))} {
			l.Series[name] = append(l.Series[name], x)
		}
	}
	for name, all := range l.Series {
		l.Values[name] = medianOf(all[min(1, len(all)-1):])
	}
	meters, err := runfolder.ReadMeters(metrics)
	if err != nil {
		return nil, err
	}
	addMeters(l, meters, float64(len(l.Series["epoch_s"])))
	l.Values["first_bytes"], l.Values["bytes"] = l.Series["row_bytes"][0], stat.Mean(l.Series["bytes"], nil) // rows of an epoch come in part in the one before
	return l, nil
}
