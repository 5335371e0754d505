//go:build cuda

package pipeline

import (
	"slices"
	"testing"

	"capgnn/hostmem"
	"capgnn/internal/learn"
	"capgnn/internal/long"
	"capgnn/internal/named"
	"capgnn/jaca"
	"capgnn/pipeline/halo"
)

// Ranks with GPUs, several parts on one of them, train as one process with them does, whatever the schedule of the driver and of the network.
func TestRanksTrainAlikeCUDA(t *testing.T) {
	kinds, names := named.Kinds[1:2], []string{"1x4", "3+1"}
	if long.Wanted() {
		kinds, names = named.Kinds, []string{"1x4", "3+1", "2x2", "4x1"}
	}
	for k, kind := range kinds {
		var want []string
		for seed, group := range names {
			gpu := []string{"cuda:0", "cuda:0", "cuda:1", "cuda:2"}
			if k%2 > 0 || group == "4x1" {
				gpu[1] = "cuda:3"
			}
			devices, closeAll := gpus(t, "n=4;mem=32;jitter=200;seed="+string(rune('1'+seed))+";p2p="+someReach(4), gpu...)
			on := slices.Clone(devices)
			if gpu[1] == gpu[0] {
				on[1] = on[0]
			}
			driver, _ := fakeDriver() // it is there: devices are open
			c := farRun{on: on, edit: func(_ *learn.Problem, o *Options) {
				o.Cache = halo.Options{Policy: jaca.JACA, HaloType: halo.Encoding((k + 2) % 3), Piece: 2000, Host: hostmem.LockOptions{Pinner: driver.Pinner()}}
				o.Epochs, o.EvalEvery = 2, 1
				o.Cache.Local, o.Cache.Global = jaca.Percent(30), jaca.Percent(40)
			}}
			c.p, c.m = task{share: 0.4, vertices: 90}.make(t, kind)
			groups := groupings[group]
			ranks := memoryRanks(t, len(groups), uint64(seed))
			if seed == 0 {
				ranks = nil
			}
			got, err := c.train(t, groups, ranks)
			closeAll()
			if err != nil {
				t.Fatalf("%s, %s: %v", kind, group, err)
			}
			if seed == 0 {
				want = got
			}
			if !slices.Equal(got, slices.Repeat(want, len(groups))) {
				t.Errorf("%s, %s: %v\nin one process %v", kind, group, got, want)
			}
		}
	}
}
