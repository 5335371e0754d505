package chunks

import "fmt"

// Schedule says which super-epoch each epoch of a run is in. A run is one sweep: its super-epochs are equally long but for the first ones, which
// share what is left over by one epoch each. A run of fewer epochs than a sweep has super-epochs ends in the midst of the sweep.
type Schedule struct {
	Rotation Rotation
	Epochs   int // of the run, at least 1
}

// Position is where an epoch stands.
type Position struct {
	Shift  int // 1 to c-1
	Epoch  int // within the super-epoch, from 0 on; in 0 parts have switched
	Length int // epochs of the super-epoch
}

// At returns where an epoch stands, which is in [0, Epochs).
func (s Schedule) At(epoch int) Position {
	if epoch < 0 || epoch >= s.Epochs {
		panic(fmt.Sprintf("chunks: epoch %d of %d", epoch, s.Epochs))
	}
	length, longer := s.Epochs/s.Rotation.Shifts(), s.Epochs%s.Rotation.Shifts()
	first := longer * (length + 1) // epochs of the longer ones
	if epoch < first {
		return Position{Shift: 1 + epoch/(length+1), Epoch: epoch % (length + 1), Length: length + 1}
	}
	rest := epoch - first
	return Position{Shift: 1 + longer + rest/length, Epoch: rest % length, Length: length}
}
