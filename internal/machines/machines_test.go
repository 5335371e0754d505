package machines

import (
	"context"
	"errors"
	"slices"
	"testing"
	"time"

	"capgnn/gpu"
)

// noWire carries nothing.
type noWire struct{}

func (noWire) Open(int, int) int { return 0 }

func (noWire) Carry(int, gpu.Bytes, ...gpu.Event) gpu.Event { return nil }

// A machine that ends with an error ends the others, whatever they are about to tell it or wait to hear from it.
func TestFailedMachineEndsOthers(t *testing.T) {
	lost := errors.New("lost")
	for failing := range 3 {
		for name, talk := range map[string]func(ctx context.Context, m Machine) error{
			"broadcasts": func(ctx context.Context, m Machine) error { _, err := m.Broadcast(ctx, 0, nil); return err },
			"gathers":    func(ctx context.Context, m Machine) error { _, err := m.Gather(ctx, 0, nil); return err },
		} {
			net, ended := New(3, noWire{}), make(chan error, 1)
			go func() { // ends with the test, which waits for it
				ended <- net.Each(func(rank int) error {
					for turn := 0; ; turn++ {
						if rank == failing && turn == 2 {
							return lost
						}
						if err := talk(t.Context(), net.Machine(rank)); err != nil {
							return err
						}
					}
				})
			}()
			select {
			case err := <-ended:
				if !errors.Is(err, lost) {
					t.Errorf("%s, %d fails: %v", name, failing, err)
				}
			case <-time.After(20 * time.Second):
				t.Fatalf("%s, %d fails: others hang", name, failing)
			}
			net.Close()
		}
	}
}

// Where a machine has no trainer, those of the others are given up.
func TestStartGivesUp(t *testing.T) {
	none := errors.New("no memory")
	for failing := range 3 {
		var gone []int
		_, err := Start(&Cluster{Parts: []int{2, 1, 3}, Wire: noWire{}}, 6, func(lo, hi int, m *Machine) (int, error) {
			if m.Rank() == failing {
				return 0, none
			}
			if want := []int{0, 2, 3, 6}[m.Rank():]; lo != want[0] || hi != want[1] {
				t.Errorf("machine %d has parts %d to %d", m.Rank(), lo, hi)
			}
			return 10 * m.Rank(), nil
		}, func(rank int) { gone = append(gone, rank/10) })
		want := slices.DeleteFunc([]int{0, 1, 2}, func(k int) bool { return k == failing })
		if !errors.Is(err, none) || !slices.Equal(gone, want) {
			t.Errorf("%d fails: %v, given up: %v", failing, err, gone)
		}
	}
}
