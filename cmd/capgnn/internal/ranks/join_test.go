package ranks

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"capgnn/cluster"
	"capgnn/cluster/tcp"
)

// Ranks that join by package cluster/tcp are compared by what package cluster says, and all end with the same line.
func TestJoiningRanksAreCompared(t *testing.T) {
	for _, tc := range []struct {
		name        string
		change      func(f *cluster.Facts) // of rank 1
		raw         string                 // in place of the facts of rank 1
		want, notes string
	}{
		{"equal", func(*cluster.Facts) {}, "", "", ""},
		{"option", func(f *cluster.Facts) { f.Options = map[string]string{"lr": "0.02"} }, "",
			"--lr of rank 1 (host h1) is 0.02, of rank 0 (host h0) it is 0.01: start all ranks with the same options", ""},
		{"instructions", func(f *cluster.Facts) { f.Instructions = "avx512" }, "", "", "rank 1 (host h1) computes with avx512"},
		{"another rank", func(f *cluster.Facts) { f.Rank = 2 }, "", `rank 1 (host "h1") says that it is rank 2`, ""},
		{"no facts", nil, "null", `rank 1 (host "h1"): read what a rank says of itself: 0 ranks`, ""},
		{"unknown facts", nil, `{"gift":1}`, `unknown field`, ""},
	} {
		port, err := freePort()
		if err != nil {
			t.Fatal(err)
		}
		var notes []string
		errs := make([]error, 3)
		var all sync.WaitGroup
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		for rank := range errs {
			f := cluster.Facts{Protocol: cluster.Protocol, Version: "v", Ranks: 3, Rank: rank, Host: fmt.Sprint("h", rank), Options: map[string]string{"lr": "0.01"}, Instructions: "avx2", Devices: 1}
			if rank == 1 && tc.change != nil {
				tc.change(&f)
			}
			text, err := f.Encode()
			if err != nil {
				t.Fatal(err)
			}
			if rank == 1 && tc.raw != "" {
				text = json.RawMessage(tc.raw)
			}
			o := tcp.Options{Rank: rank, Ranks: 3, Master: net.JoinHostPort("127.0.0.1", strconv.Itoa(port)), Host: f.Host, Facts: text, JoinTimeout: 30 * time.Second}
			if rank == 0 {
				o.Compare = Compare(func(line string) { notes = append(notes, line) })
			}
			all.Go(func() {
				g, err := tcp.Join(ctx, o)
				if errs[rank] = err; err == nil {
					defer g.Close()
					_, errs[rank] = g.Gather(ctx, 1, nil) // nobody leaves before all have joined
				}
			})
		}
		all.Wait()
		cancel()
		for rank, err := range errs {
			var refused *tcp.Refused
			if tc.want == "" && err != nil || tc.want != "" && (!errors.As(err, &refused) || !strings.Contains(refused.Line, tc.want) || refused.Line != errs[0].Error()) {
				t.Errorf("%s: rank %d: %v, want %q", tc.name, rank, err, tc.want)
			}
		}
		if got := strings.Join(notes, "|"); !strings.HasPrefix(got, tc.notes) || (got == "") != (tc.notes == "") {
			t.Errorf("%s: notes %q, want %q", tc.name, got, tc.notes)
		}
	}
}
