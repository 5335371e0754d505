package ranks

import (
	"slices"
	"strings"
	"testing"

	"capgnn/cluster"
	"capgnn/cmd/capgnn/internal/term"
)

func TestHosts(t *testing.T) {
	for _, tc := range []struct {
		n          int
		list, want string
	}{
		{2, "", "|"},
		{0, "a,b", "a|b"},
		{2, "a,b", "a|b"},
		{5, "a,b", "a|a|a|b|b"},
		{4, "n[01-02]", "n01|n01|n02|n02"},
		{0, "10.0.0.[1-2]", "10.0.0.1|10.0.0.2"},
		{3, "localhost", "localhost|localhost|localhost"},
		{0, "a,b,a", "a|b|a"},
	} {
		if got, err := Hosts(tc.n, tc.list); err != nil || strings.Join(got, "|") != tc.want {
			t.Errorf("-n %d --hosts %q: %q, %v, want %s", tc.n, tc.list, got, err, tc.want)
		}
	}
	for _, tc := range []struct {
		n          int
		list, says string
	}{
		{0, "", "-n 0: give the number of ranks, from 1 to 4096"},
		{-1, "", "-n -1"},
		{4097, "", "-n 4097"},
		{-1, "a", "--hosts a: -n -1: give the number of ranks, from 1 to 4096"},
		{0, "n[1-1000000000]", ": 1000000000 machines: up to 4096 ranks are possible"},
		{1, "a,b", "--hosts a,b: 2 machines for 1 rank: raise -n, or name fewer machines"},
		{2, "a,,[", ": node list"},
		{2, "-oProxyCommand=ls", ": node list"},
		{2, "a;ls", ": node list"},
		{2, "localhost,b", "localhost is another machine for each of them"},
		{2, "b,127.0.0.1", "127.0.0.1 is another machine for each of them"},
	} {
		got, err := Hosts(tc.n, tc.list)
		if term.ExitCode(err) != term.ExitUsage || !strings.Contains(err.Error(), tc.says) {
			t.Errorf("-n %d --hosts %q: %q, %v, want %q", tc.n, tc.list, got, err, tc.says)
		}
	}
}

// What a launch tells a rank is read as its place.
func TestPlaces(t *testing.T) {
	got := places([]string{"a", "b", "a"}, "fe80::1", 7)
	for i, want := range []cluster.Place{
		{Rank: 0, Ranks: 3, LocalRank: 0, LocalRanks: 2}, {Rank: 1, Ranks: 3, LocalRank: 0, LocalRanks: 1}, {Rank: 2, Ranks: 3, LocalRank: 1, LocalRanks: 2},
	} {
		want.Master, want.Source = "[fe80::1]:7", "torchrun"
		p, err := cluster.Find(cluster.Flags{}, func(name string) (string, bool) {
			k := slices.IndexFunc(got[i], func(s string) bool { return strings.HasPrefix(s, name+"=") })
			if k < 0 {
				return "", false
			}
			return got[i][k][len(name)+1:], true
		})
		if err != nil || p != want {
			t.Errorf("rank %d: %+v, %v, want %+v", i, p, err, want)
		}
	}
}
