package clustercheck

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"net"
	"os"
	"slices"
	"strconv"
	"time"

	"capgnn/cluster"
	"capgnn/cmd/capgnn/internal/ranks"
	"capgnn/cmd/capgnn/internal/term"
)

// Options are what a check is given.
type Options struct {
	Place      cluster.Place                  // of this rank; no ranks: it is alone
	SecretFile string                         // "": where a secret is looked for
	Cores      int                            // that CPU devices may use
	Settings   func() (ranks.Settings, error) // to join, asked for when there is a secret
	Host       Host                           // zero: this machine
}

// tagMeasured follows every round of measurements.
const tagMeasured uint32 = 1

// Run checks what this process can see, joins the other ranks, measures the lines between them, and prints at rank 0 what it found.
// What the user has to mend before ranks can train is wrong use.
func Run(ctx context.Context, k *term.Console, o Options) error {
	var doubt *Problem
	if o.Place.Ranks > 1 {
		sure := false
		if doubt, sure = checkName(ctx, o.Place, net.DefaultResolver.LookupHost); sure {
			return doubt.fault()
		}
	}
	secret, err := findSecret(o.SecretFile, os.LookupEnv, o.Place)
	if err != nil {
		return err
	}
	m := thisMachine(o.Place.Rank, o.Cores, secret)
	if o.Place.Ranks < 2 {
		return o.Host.alone(m).show(k)
	}
	r, err := o.meet(ctx, k, m, doubt)
	if err != nil || o.Place.Rank > 0 {
		return err
	}
	if len(r.outer()) > 0 {
		r.Firewall = o.Host.rules(portOf(o.Place))
	}
	return r.show(k)
}

// meet joins the other ranks and returns what all have found, at rank 0.
func (o *Options) meet(ctx context.Context, k *term.Console, m *Machine, doubt *Problem) (*Report, error) {
	s, err := o.Settings()
	if err != nil {
		return nil, err
	}
	members, err := ranks.Join(ctx, k, s, cluster.Facts{})
	if err != nil {
		return nil, o.Host.advised(err, o.Place, m.Secret, doubt)
	}
	r, err := together(ctx, members, m)
	if err != nil {
		return nil, members.Fail(err)
	}
	return r, members.Close()
}

// Lines joins the other ranks, measures what connects them, and returns it at rank 0, by From and then To.
func Lines(ctx context.Context, k *term.Console, o Options) ([]Pair, error) {
	if o.Place.Ranks < 2 {
		return nil, term.Usagef("--cluster: lines are measured between ranks, and this process is alone: `capgnn launch --hosts %s,OTHER -- profile --cluster`", cmp.Or(hostname(), "HOST"))
	}
	secret, err := findSecret(o.SecretFile, os.LookupEnv, o.Place)
	if err != nil {
		return nil, err
	}
	r, err := o.meet(ctx, k, thisMachine(o.Place.Rank, o.Cores, secret), nil)
	if err != nil || o.Place.Rank > 0 {
		return nil, err
	}
	return r.Pairs, nil
}

// hostname returns the name of this machine, "" where it has none.
func hostname() string {
	name, _ := os.Hostname()
	return name
}

func portOf(p cluster.Place) string {
	_, port, _ := net.SplitHostPort(p.Master)
	return cmp.Or(port, strconv.Itoa(cluster.DefaultPort))
}

// alone is the report of a machine that was started without others: what it can see, and what to do next.
func (h Host) alone(m *Machine) *Report {
	r := &Report{Machines: []*Machine{m}, Pairs: []Pair{}, Firewall: h.rules(strconv.Itoa(cluster.DefaultPort)), Problems: []Problem{}}
	if ip := outward(); ip != nil {
		m.at(ip.String())
	} else {
		r.note("this machine has no address in a network", "connect it by cable or Wi-Fi; ranks on this machine alone need none")
	}
	r.Next = []string{"capgnn launch --hosts " + m.Host + ",OTHER -- doctor --cluster"}
	if !h.installed("ssh") {
		r.note("there is no ssh here, by which `capgnn launch --hosts` starts ranks", "install it (`sudo apt-get install openssh-client`), or start each rank with --ranks N,rank=R,master=HOST")
	}
	return r
}

// together measures with the other ranks and returns at rank 0 what all have found.
func together(ctx context.Context, members *ranks.Members, m *Machine) (*Report, error) {
	all := members.Members()
	hosts := make([]string, len(all))
	addresses := make([]net.IP, len(all))
	for i, o := range all {
		host, _, _ := net.SplitHostPort(o.Addr)
		hosts[i], addresses[i] = o.Host, net.ParseIP(host)
	}
	m.Host = hosts[m.Rank]
	if ip := addresses[m.Rank]; ip != nil {
		m.at(ip.String())
	}
	own, err := measure(ctx, members, tagMeasured, hosts)
	if err != nil {
		return nil, err
	}
	for i := range own {
		if ip := addresses[own[i].To]; ip != nil {
			own[i].MTU = pathMTU(ip)
		}
	}
	mine := finding{Machine: m, Pairs: own}
	if !members.Leads() {
		mine.Root = addresses[0].String()
	}
	found, err := ranks.All(ctx, members, mine)
	if err != nil {
		return nil, err
	}
	for rank, f := range found {
		if !f.of(rank, len(found)) {
			return nil, fmt.Errorf("read what rank %d has found: it is not of this rank", rank)
		}
	}
	if members.Leads() { // its own table of members has the name that all dial
		found[0].Machine.at(found[len(found)-1].Root)
	}
	r := &Report{Pairs: []Pair{}, Problems: []Problem{}}
	for _, f := range found {
		r.Machines, r.Pairs = append(r.Machines, f.Machine), append(r.Pairs, f.Pairs...)
	}
	slices.SortFunc(r.Pairs, func(x, y Pair) int { return cmp.Or(x.From-y.From, x.To-y.To) })
	r.judge()
	return r, nil
}

// finding is what one rank has found.
type finding struct {
	Machine *Machine `json:"machine"`
	Pairs   []Pair   `json:"pairs"`
	Root    string   `json:"root"` // the address at which this rank reached rank 0
}

// of reports whether it is what a rank of so many can find.
func (f finding) of(rank, ranks int) bool {
	return f.Machine != nil && f.Machine.Rank == rank &&
		!slices.ContainsFunc(f.Pairs, func(p Pair) bool { return p.From != rank || p.To < 0 || p.To >= ranks || p.To == rank })
}

// show prints the report.
func (r *Report) show(k *term.Console) error {
	if k.JSON {
		return json.NewEncoder(k.Out).Encode(r)
	}
	return r.Print(k.Out)
}

// Patience is how long a check waits for all ranks where nobody says otherwise: nobody wants to wait for a diagnosis.
const Patience = time.Minute
