package pipeline

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"testing"
	"time"

	"capgnn/gnn"
	"capgnn/gpu"
	"capgnn/graph"
	"capgnn/internal/learn"
	"capgnn/internal/meet"
	"capgnn/internal/trainer"
	"capgnn/jaca"
)

// Sums over parts have the bits of one process however parts are grouped into ranks, and so has every record on its way: no numbers among them.
func TestRecordsOfRanks(t *testing.T) {
	r := rand.New(rand.NewPCG(4, 4))
	value := func() float64 {
		return []float64{math.NaN(), math.Inf(1), math.Inf(-1), math.Copysign(0, -1), 1e-310, r.NormFloat64(), r.NormFloat64(), math.MaxFloat64}[r.IntN(8)]
	}
	for round := range 30 {
		parts := 1 + r.IntN(6)
		epochs, scores := make([]trainer.Record, parts), make([][3]learn.Tally, parts)
		for i := range parts {
			e := trainer.Record{Loss: []learn.Number{learn.Number(value())}, Usage: gpu.Usage{H2D: gpu.Bytes(r.Int64()), SpMM: r.Int64()}, Halo: jaca.Stats{Lookups: r.Int64(), AgeMax: r.IntN(9)},
				Checking: time.Duration(r.Int64())}
			e.Usage.Time[gpu.PhaseWait], e.Gradients.Peer = time.Duration(r.Int64()), gpu.Bytes(r.Int64())
			epochs[i] = e
			for s := range scores[i] {
				scores[i][s] = learn.Tally{Correct: r.IntN(9), Total: 9, F1: gnn.F1Counts{TP: r.IntN(5), FP: 1}, Members: r.IntN(3), Loss: learn.Number(value()), Terms: r.IntN(9)}
			}
		}
		sum := func(all []trainer.Record) (e EpochStats) {
			var p trainer.Partial
			p.Take(all)
			p.Report(0, &e)
			return e
		}
		want := sum(epochs)
		var groups []graph.Range
		for lo := 0; lo < parts; {
			hi := lo + 1 + r.IntN(parts-lo)
			groups = append(groups, graph.Range{Lo: lo, Hi: hi})
			lo = hi
		}
		errs := eachRank(groups, parts, func(tr *Trainer, own graph.Range) error {
			all, err := trainer.Gather(&tr.core, trainer.TagSteps, epochs[own.Lo:own.Hi])
			if err != nil {
				return err
			}
			if got := sum(all); printed(got) != printed(want) || printed(all) != printed(epochs) {
				return fmt.Errorf("%+v, want %+v", all, epochs)
			}
			tallies, err := trainer.Gather(&tr.core, trainer.TagEvaluation, scores[own.Lo:own.Hi])
			if err == nil && printed(tallies) != printed(scores) {
				err = fmt.Errorf("%+v, want %+v", tallies, scores)
			}
			return err
		})
		if err := errors.Join(errs...); err != nil {
			t.Fatalf("round %d, parts %v: %v", round, groups, err)
		}
	}
}

// printed is what two values are compared by: one that is no number equals itself.
func printed(x any) string { return fmt.Sprintf("%+v", x) }

// eachRank runs f for ranks of these parts, side by side.
func eachRank(groups []graph.Range, parts int, f func(tr *Trainer, own graph.Range) error) []error {
	ranks, errs, done := testRanks(len(groups)), make([]error, len(groups)), make(chan bool)
	for k, own := range groups {
		tr := newTrainerOf(nil, Options{Training: Training{Ranks: ranks[k]}, First: own.Lo, Parts: parts})
		tr.Hub = meet.NewHub(context.Background(), time.Minute)
		go func() {
			errs[k] = f(tr, own)
			done <- true
		}()
	}
	for range groups {
		<-done
	}
	return errs
}
