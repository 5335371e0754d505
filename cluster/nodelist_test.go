package cluster

import (
	"strings"
	"testing"
)

// all returns the hosts of a list, at most so many.
func all(n Nodes, most uint64) (hosts []string) {
	for i := range min(n.Count(), most) {
		hosts = append(hosts, n.Host(i))
	}
	return hosts
}

// The wanted hosts are what `scontrol show hostnames` of Slurm 22.05 printed, up to the line.
func TestNodes(t *testing.T) {
	for _, tc := range []struct{ list, want string }{
		{"n1", "n1"},
		{"n[01-03,7],login1,r[1-2]n[1-4]", "n01 n02 n03 n7 login1 r1n1 r1n2 r1n3 r1n4 r2n1 r2n2 r2n3 r2n4"},
		{"a[1-2]b[1-2]c[1-2]", "a1b1c1 a1b1c2 a2b1c1 a2b1c2 a1b2c1 a1b2c2 a2b2c1 a2b2c2"},
		{"n[1-010]", "n1 n2 n3 n4 n5 n6 n7 n8 n9 n10"},
		{"n[001-3]", "n001 n002 n003"},
		{"n[98-101]", "n98 n99 n100 n101"},
		{"n[09-10]", "n09 n10"},
		{"n[00-1]", "n00 n01"},
		{"n[01-3,004]", "n01 n02 n03 n004"},
		{",n1,,n2,", "n1 n2"},
		{"n1 n2\tn3", "n1 n2 n3"},
		{"[1-3]", "1 2 3"},
		{"n[1-2][3-4]", "n13 n14 n23 n24"},
		{"n[1-2],n[1-2]", "n1 n2 n1 n2"},
		{"10.0.0.[1-2],10.0.1.1", "10.0.0.1 10.0.0.2 10.0.1.1"},
		// What that Slurm refuses.
		{"n[1-2]-ib,m", "n1-ib n2-ib m"},
		{"n[1-2].example.org", "n1.example.org n2.example.org"},
	} {
		n, err := ParseNodes(tc.list)
		if err != nil {
			t.Errorf("%q: %v", tc.list, err)
			continue
		}
		if got := strings.Join(all(n, 100), " "); got != tc.want {
			t.Errorf("%q: %s, want %s", tc.list, got, tc.want)
		}
	}
	for _, list := range []string{
		"", ",", " ", "n[3-1]", "n[]", "n[1", "n]1", "n[-3]", "n[3-]", "n[1,,2]", "n[1--2]", "n[a-c]", "n[0x1-2]", "n[[1-2]]", "n[ 1-2]",
		"bgl[000x133]", "n[1-2]a[3", "-n", "-oProxyCommand=x", "n/1", "n[1-2]/x", "n;ls", "é", "10.0.0.256", "0.0.0.0", "n[1-99999999999999999999]", "n\x00",
		"n[0-9223372036854775807]m[0-3]", strings.Repeat("n", 64), strings.Repeat("n[0-4611686018427387903],", 5),
	} {
		if n, err := ParseNodes(list); err == nil || strings.Contains(err.Error(), "\n") {
			t.Errorf("%q was taken for %d hosts from %s on; %v", list, n.Count(), n.Host(0), err)
		}
	}
}

// A long list costs as much as its text.
func TestLongNodeList(t *testing.T) {
	const list = "r[0-999]n[0-999999],m[1-1000000000]"
	var n Nodes
	var err error
	if got := testing.AllocsPerRun(10, func() { n, err = ParseNodes(list) }); got > 60 {
		t.Errorf("%v allocations", got)
	}
	if err != nil || n.Count() != 2e9 || n.Host(0) != "r0n0" || n.Host(1e9-1) != "r999n999999" || n.Host(1e9) != "m1" || n.Host(2e9-1) != "m1000000000" {
		t.Errorf("%d hosts, %v", n.Count(), err)
	}
}

func FuzzNodes(f *testing.F) {
	for _, s := range []string{"n[01-03,7],login1,r[1-2]n[1-4]", "n[1-2]-ib", "a[1-2]b[1-2]c[1-2]", "n[1-1000000000]", "[", "]", "n[000000000000000000000-1]"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, list string) {
		n, err := ParseNodes(list)
		if err != nil {
			return
		}
		if n.Count() == 0 || checkHost(n.Host(0)) != nil {
			t.Errorf("%q: %d hosts, the first is %q", list, n.Count(), n.Host(0))
		}
		hosts := append(all(n, 50), n.Host(n.Count()-1))
		again, err := ParseNodes(strings.Join(hosts, ","))
		if err != nil { // numbers may make a later name too long
			return
		}
		for i, h := range hosts {
			if again.Host(uint64(i)) != h {
				t.Errorf("%q: host %d is %q, and %q once written out", list, i, h, again.Host(uint64(i)))
			}
		}
	})
}
