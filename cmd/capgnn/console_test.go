package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"strings"
	"testing"
	"time"

	"capgnn/gpu"
	"capgnn/pipeline"
)

func TestProgressWithoutATerminal(t *testing.T) {
	var out bytes.Buffer
	k := &console{out: &out, err: &out}
	p := k.begin("work", 200, 0)
	for i := range 200 {
		p.at(i+1, "x")
	}
	p.end()
	all := strings.Split(strings.TrimSpace(out.String()), "\n")
	if len(all) != lines || all[0] != "work 10/200  x" || all[lines-1] != "work 200/200  x" {
		t.Errorf("%d lines, want %d: %q", len(all), lines, all)
	}
	out.Reset()
	p = k.begin("short", 10, time.Hour)
	p.at(10, "")
	p.end()
	if out.Len() > 0 {
		t.Errorf("a short phase printed %q", out.String())
	}
	k.quiet = true
	k.note("note")
	k.begin("work", 1, 0).at(1, "")
	if out.Len() > 0 {
		t.Errorf("--quiet printed %q", out.String())
	}
}

func TestProgressOnATerminal(t *testing.T) {
	var out bytes.Buffer
	k := &console{out: &out, err: &out, terminal: true}
	p := k.begin("work", 3, 0)
	for i := range 3 {
		p.at(i+1, "detail")
		k.note("a note")
		time.Sleep(redraw)
	}
	p.end()
	text := out.String()
	if !strings.Contains(text, "work") || strings.Count(text, "\ra note\n") != 3 {
		t.Errorf("bar and notes are missing in %q", text)
	}
	if strings.Contains(text, "\x1b[32m") {
		t.Errorf("colours in %q although they are off", text)
	}
}

func TestExitCodes(t *testing.T) {
	oom := &gpu.OutOfMemory{Device: "cpu:0"}
	for _, tc := range []struct {
		err  error
		want int
	}{
		{nil, exitDone},
		{errors.New("x"), exitFailure},
		{usagef("x"), exitUsage},
		{fmt.Errorf("a: %w", gpu.ErrNoDevice), exitUsage},
		{asUsage(errors.New("x")), exitUsage},
		{asUsage(oom), exitDoesNotFit},
		{fmt.Errorf("a: %w", oom), exitDoesNotFit},
		{usagef("a: %w", oom), exitDoesNotFit},
		{&fitError{errors.New("x"), "y"}, exitDoesNotFit},
		{&gpu.Fault{Device: "cpu:0", Err: gpu.ErrDeviceLost}, exitLost},
		{fmt.Errorf("epoch 3: %w", &gpu.Fault{Device: "cpu:0", Op: "Gemm", Err: errors.New("x")}), exitLost},
		{&gpu.Fault{Device: "cpu:0", Err: oom}, exitDoesNotFit},
		{fmt.Errorf("epoch 3: part 0 waited 5m0s for part 1: %w", gpu.ErrDeviceLost), exitLost},
		{asUsage(gpu.ErrDeviceLost), exitLost},
		{&pipeline.Diverged{Epoch: 3, Loss: math.NaN()}, exitFailure},
		{fmt.Errorf("a: %w", context.Canceled), exitInterrupted},
		{asUsage(context.Canceled), exitInterrupted},
		{&interruptedError{"x"}, exitInterrupted},
	} {
		if got := exitCode(tc.err); got != tc.want {
			t.Errorf("%v: exit code %d, want %d", tc.err, got, tc.want)
		}
	}
	if got, want := oneLine(errors.Join(errors.New("a\nb "), errors.New("\nc"))), "a; b; c"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestNoteHandler(t *testing.T) {
	var out bytes.Buffer
	log := slog.New(&noteHandler{k: &console{err: &out}})
	log.Info("hidden")
	log.With("part", 1).Warn("checkpoint skipped", "error", "bad sum")
	if got, want := out.String(), "warning: checkpoint skipped part=1 error=bad sum\n"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}
