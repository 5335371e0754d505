package ranks

import (
	"fmt"
	"net"
	"os"
	"slices"
	"strconv"
	"strings"

	"capgnn/cluster"
	"capgnn/cmd/capgnn/internal/term"
)

// Hosts returns the machine of each rank, "" for this one. list is that of --hosts, which may be written as Slurm does, and n the
// number of ranks: of all machines together, 0 = one each. Ranks are numbered by machine, in shares that are equal up to one.
func Hosts(n int, list string) ([]string, error) {
	if list != "" {
		hosts, err := spread(n, list)
		return hosts, term.AsUsage(named("--hosts "+list, err))
	}
	if n < 1 || n > cluster.MaxRanks {
		return nil, term.AsUsage(badNumber(n))
	}
	return make([]string, n), nil
}

func badNumber(n int) error {
	return fmt.Errorf("-n %d: give the number of ranks, from 1 to %d", n, cluster.MaxRanks)
}

// spread puts n ranks on the machines of a list.
func spread(n int, list string) (hosts []string, err error) {
	nodes, err := cluster.ParseNodes(list)
	if err != nil {
		return nil, err
	}
	count := nodes.Count()
	if n == 0 && count <= cluster.MaxRanks {
		n = int(count)
	}
	switch {
	case count > cluster.MaxRanks:
		return nil, fmt.Errorf("%d machines: up to %d ranks are possible", count, cluster.MaxRanks)
	case n < 0 || n > cluster.MaxRanks:
		return nil, badNumber(n)
	case uint64(n) < count:
		return nil, fmt.Errorf("%s for %s: raise -n, or name fewer machines", term.Counted(int(count), "machine"), term.Counted(n, "rank"))
	}
	for rank := range uint64(n) {
		hosts = append(hosts, nodes.Host(rank*count/uint64(n)))
	}
	for _, h := range hosts {
		if loopback(h) && slices.ContainsFunc(hosts, func(o string) bool { return o != h }) {
			return nil, fmt.Errorf("%s is another machine for each of them: give its name in the network", h)
		}
	}
	return hosts, nil
}

func loopback(host string) bool {
	ip := net.ParseIP(host)
	return strings.TrimSuffix(strings.ToLower(host), ".") == "localhost" || ip != nil && ip.IsLoopback()
}

// thisHost is what lines of ranks on this machine are marked with.
func thisHost() string {
	name, err := os.Hostname()
	if err != nil || name == "" {
		return "localhost"
	}
	return name
}

// freePort returns a port of this machine on which nobody listens. Somebody may, a moment later: then rank 0 says so.
func freePort() (int, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return 0, fmt.Errorf("find a free port: %w", err)
	}
	defer l.Close()
	return l.Addr().(*net.TCPAddr).Port, nil
}

// places returns the variables that tell each rank its place.
func places(hosts []string, master string, port int) [][]string {
	size := map[string]int{}
	for _, h := range hosts {
		size[h]++
	}
	local := map[string]int{}
	var all [][]string
	for rank, h := range hosts {
		all = append(all, []string{
			"RANK=" + strconv.Itoa(rank), "WORLD_SIZE=" + strconv.Itoa(len(hosts)), "MASTER_ADDR=" + master, "MASTER_PORT=" + strconv.Itoa(port),
			"LOCAL_RANK=" + strconv.Itoa(local[h]), "LOCAL_WORLD_SIZE=" + strconv.Itoa(size[h]),
		})
		local[h]++
	}
	return all
}
