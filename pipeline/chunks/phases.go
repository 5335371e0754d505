package chunks

import "fmt"

// Phases says which parts train together: an epoch goes through all parts in their order, so many workers at a time, and each phase ends with a step.
type Phases struct {
	Rotation
	Workers int // 1 to c; c: every part trains in every step
}

// CheckPhases says why so many workers cannot go through so many chunks, nil if they can.
func CheckPhases(workers, chunks int) error {
	if workers < 1 || workers > chunks {
		return fmt.Errorf("%d of %d parts cannot train at a time: choose 1 to %d", workers, chunks, chunks)
	}
	return nil
}

// Count returns the phases of an epoch.
func (p Phases) Count() int { return (p.Chunks + p.Workers - 1) / p.Workers }

// Part returns that of a worker in a phase; -1: in the last phase there may be fewer parts than workers.
func (p Phases) Part(phase, worker int) int {
	if part := phase*p.Workers + worker; part < p.Chunks {
		return part
	}
	return -1
}

// PartsOf returns all parts of a worker, in the order of phases.
func (p Phases) PartsOf(worker int) (parts []int) {
	for part := worker; part < p.Chunks; part += p.Workers {
		parts = append(parts, part)
	}
	return parts
}

// Share returns which share of an epoch's loss a phase has in super-epochs of a shift: that of its parts' targets among those of all parts. training has the
// training vertices of every chunk, at least one in all. The shares of an epoch add up to 1. A phase of share 0 has no target: there is nothing to train on.
func (p Phases) Share(phase, shift int, t Targets, training []int) float64 {
	some, all := 0, 0
	for part := range p.Chunks {
		pair := p.Pair(part, shift)
		n := training[pair.Base]
		if t == Both {
			n += training[pair.Added]
		}
		if all += n; part/p.Workers == phase {
			some += n
		}
	}
	return float64(some) / float64(all)
}
