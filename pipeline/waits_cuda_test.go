//go:build cuda

package pipeline

import (
	"context"
	"fmt"
	"testing"

	"capgnn/gpu/cuda/fakedriver/fake"
	"capgnn/internal/named"
)

// A wait that the driver forgets, of a stream for an event or of the host for one, gives other weights under some schedule.
// Many of the waits of a run say again what another wait says, and waiting in vain is no error: half of the first ones that
// are tried must be found. All of them with 8 schedules each: 57 of 112 waits of streams.
func TestForgottenWaitsCUDA(t *testing.T) {
	if testing.Short() {
		t.Skip("many training runs on the fake driver: minutes")
	}
	if fake.Real() {
		t.Skipf("%v: waits that are forgotten on request", fake.ErrReal)
	}
	p, m := task{share: 0.4, vertices: 60}.make(t, named.SAGE)
	m.Hidden, m.Layers = 8, 2
	train := func(config string) (string, int) {
		devices, closeAll := gpus(t, "n=3;mem=16;p2p=010/100/000"+config, numbered(3)...)
		defer closeAll()
		tr := newTrainer(t, p, m, devices, scatterParts(p.Vertices(), 3), func(o *Options) { o.Epochs = 2 })
		defer tr.Close()
		r, err := tr.Run(context.Background())
		if err != nil {
			return err.Error(), 0
		}
		return r.WeightsSHA, fake.Count("waits")
	}
	want, waits := train(";seed=1")
	if waits < 80 {
		t.Fatalf("%d waits of streams: this test looks at the wrong place", waits)
	}
	const tried, schedules = 16, 6
	found := 0
	for k := 1; k <= tried; k++ {
		for seed := 1; seed <= schedules; seed++ {
			if got, _ := train(fmt.Sprintf(";seed=%d;stretch=%d;dropwait=%d", seed, 3*seed*seed, k)); got != want {
				found++
				break
			}
		}
	}
	t.Logf("%d of %d forgotten waits found", found, tried)
	if found < tried/2 {
		t.Errorf("only %d of %d forgotten waits were found", found, tried)
	}
}
