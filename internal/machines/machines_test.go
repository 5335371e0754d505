package machines

import (
	"context"
	"errors"
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
