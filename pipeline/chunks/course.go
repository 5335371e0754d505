package chunks

import "capgnn/graph"

// Course says what parts hold in each phase of each epoch of a run.
type Course struct {
	Phases
	Schedule Schedule
	Targets  Targets
	Training []int // training vertices of every chunk, at least one in all
}

// NewCourse returns that of a run, and the targets of its parts, by vertex. Forecasts may go beyond its epochs.
func NewCourse(i Isolated, c *Cut, workers, epochs int, trains func(v graph.NodeID) bool) (Course, []bool) {
	turn := Rotation{Chunks: c.Chunks()}
	out := Course{Phases: Phases{Rotation: turn, Workers: workers}, Targets: i.Targets,
		Schedule: Schedule{Rotation: turn, Epochs: max(1, epochs)}, Training: make([]int, turn.Chunks)}
	train := make([]bool, len(c.Of))
	for v, k := range c.Of {
		if train[v] = trains(graph.NodeID(v)); train[v] {
			out.Training[k]++
		}
	}
	return out, train
}

// Shift returns that of an epoch.
func (c *Course) Shift(epoch int) int { return c.Schedule.At(min(epoch, c.Schedule.Epochs-1)).Shift }

// Moment is what parts hold their pairs for: a phase of the epochs of a shift.
type Moment struct{ Shift, Phase int }

// First is the first moment of a run.
var First = Moment{Shift: 1}

// Share returns which share of an epoch's loss a phase has; 0: there is no target in it, and it is left out.
func (c *Course) Share(at Moment) float64 {
	return c.Phases.Share(at.Phase, at.Shift, c.Targets, c.Training)
}

// Switches returns how often what parts hold changes in an epoch, and before it.
func (c *Course) Switches(epoch int) (n int) {
	held := First
	for e := max(0, epoch-1); e <= epoch; e++ {
		for at := (Moment{Shift: c.Schedule.At(e).Shift}); at.Phase < c.Count(); at.Phase++ {
			if at != held && c.Share(at) > 0 {
				if held = at; e == epoch {
					n++
				}
			}
		}
	}
	return n
}

// Behind returns what parts hold next, if it is not what they hold, and false where there is nothing of the kind.
func (c *Course) Behind(epoch, phase int) (Moment, bool) {
	now := Moment{c.Schedule.At(epoch).Shift, phase}
	for next := now; ; {
		if next.Phase++; next.Phase == c.Count() {
			if epoch++; epoch == c.Schedule.Epochs {
				return next, false
			}
			next = Moment{Shift: c.Schedule.At(epoch).Shift}
		}
		if next != now && c.Share(next) > 0 {
			return next, true
		}
	}
}
