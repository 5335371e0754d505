package clustercheck

import (
	"context"
	"fmt"
	"net"
	"slices"
	"strings"
	"time"

	"capgnn/cluster"
	"capgnn/cmd/capgnn/internal/term"
)

// Problem is something that keeps machines from training together, or slows them down, and what to do about it.
type Problem struct {
	What string `json:"what"`
	Mend string `json:"mend"`
}

// fault is the problem as an error of use.
func (p *Problem) fault() error { return term.Usagef("%s: %s", p.What, p.Mend) }

// resolveTime is how long a name server may take.
const resolveTime = 5 * time.Second

// checkName says what is wrong with the address of rank 0 as this rank sees it. sure: ranks cannot join with it; else they can if all are
// on this machine. lookup is that of net.Resolver.
func checkName(ctx context.Context, p cluster.Place, lookup func(ctx context.Context, name string) ([]string, error)) (problem *Problem, sure bool) {
	host, _, err := net.SplitHostPort(p.Master)
	if err != nil {
		return &Problem{fmt.Sprintf("%q is no address of rank 0: %v", p.Master, err), "give --ranks master= the name or the IP address of its machine"}, true
	}
	found := []string{host}
	if net.ParseIP(host) == nil {
		ctx, cancel := context.WithTimeout(ctx, resolveTime)
		defer cancel()
		if found, err = lookup(ctx, host); err != nil {
			return &Problem{fmt.Sprintf("the name %s of rank 0's machine does not resolve here: %v", host, err),
				fmt.Sprintf("write its address into /etc/hosts of this machine (ADDRESS %s), or give --ranks master= an IP address", host)}, true
		}
	}
	if len(found) == 1 && found[0] == host && p.LocalRanks == 0 { // a loopback address that somebody gave, who knows
		return nil, false
	}
	outside := slices.ContainsFunc(found, func(a string) bool { ip := net.ParseIP(a); return ip != nil && !ip.IsLoopback() })
	if outside || p.LocalRanks == p.Ranks || p.Rank == 0 && net.ParseIP(host) == nil && host != "localhost" { // rank 0 listens at all addresses of a name
		return nil, false
	}
	return &Problem{fmt.Sprintf("%s, where rank 0 is to be, is this machine itself here (%s)", host, strings.Join(found, ", ")),
		"give --ranks master= the address of rank 0's machine in the network, or mend its line in /etc/hosts here"}, p.LocalRanks > 0
}
