package clustercheck

import (
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"
	"text/tabwriter"
	"time"

	"capgnn/cmd/capgnn/internal/term"
	"capgnn/internal/number"
)

// Report is what was found: the object that `doctor --cluster --json` prints.
type Report struct {
	Machines []*Machine `json:"machines"`       // by rank; this one alone where it was started alone
	Pairs    []Pair     `json:"pairs"`          // by From, then To
	Firewall []Rule     `json:"firewall"`       // of rank 0's machine: the one that it seems to have, else all that are usual
	Next     []string   `json:"next,omitempty"` // commands
	Problems []Problem  `json:"problems"`
}

// shownPairs is how many ways are printed; of more the slowest.
const shownPairs = 56

// Print writes the report as a person reads it, in 80 columns but for long names.
func (r *Report) Print(out io.Writer) error {
	var b strings.Builder
	r.machineTable(&b)
	if len(r.Pairs) > 0 {
		b.WriteByte('\n')
		r.pairTable(&b)
	}
	b.WriteByte('\n')
	for _, line := range r.secrets() {
		fmt.Fprintln(&b, line)
	}
	if len(r.Firewall) > 0 {
		fmt.Fprintln(&b, "where a firewall is on, rank 0's machine lets its port in")
	}
	for _, f := range r.Firewall {
		fmt.Fprintf(&b, "  %-9s  %s\n", f.Firewall, f.Port)
	}
	if len(r.Machines) > 2 && len(r.Firewall) > 0 {
		fmt.Fprintln(&b, "and every machine lets the others in, at any port")
		for _, f := range r.Firewall {
			fmt.Fprintf(&b, "  %-9s  %s\n", f.Firewall, f.From)
		}
	}
	for _, n := range r.Next {
		fmt.Fprintf(&b, "next\n  %s\n", n)
	}
	b.WriteByte('\n')
	if len(r.Problems) == 0 {
		b.WriteString("nothing is wrong\n")
	}
	for _, p := range r.Problems {
		fmt.Fprintf(&b, "! %s\n  %s\n", p.What, p.Mend)
	}
	_, err := io.WriteString(out, b.String())
	return err
}

func (r *Report) machineTable(b *strings.Builder) {
	w := tabwriter.NewWriter(b, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "rank\thost\taddress\tinterface\tMTU\tcores\tmemory")
	for _, m := range r.Machines {
		rank := "-"
		if len(r.Pairs) > 0 {
			rank = strconv.Itoa(m.Rank)
		}
		memory := "-"
		if m.Memory >= 0 {
			memory = term.Size(m.Memory)
		}
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\t%d\t%s\n", rank, m.Host, orDash(m.Address), orDash(m.Line), known(m.MTU), m.Cores, memory)
	}
	w.Flush()
}

func (r *Report) pairTable(b *strings.Builder) {
	shown := r.Pairs
	if len(shown) > shownPairs {
		shown = slices.Clone(shown)
		slices.SortStableFunc(shown, func(x, y Pair) int { return int(math.Copysign(1, x.Rate-y.Rate)) })
		shown = shown[:shownPairs]
		fmt.Fprintf(b, "the %d slowest of %d ways:\n", len(shown), len(r.Pairs))
	}
	w := tabwriter.NewWriter(b, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "from\tto\trate\tround trip\tMTU")
	for _, p := range shown {
		fmt.Fprintf(w, "%d\t%d\t%s\t%s\t%s\n", p.From, p.To, rate(p.Rate), short(p.RoundTrip), known(p.MTU))
	}
	w.Flush()
}

// secrets says where the secrets are: once, if all ranks have theirs in the same place.
func (r *Report) secrets() (lines []string) {
	one := r.Machines[0].Secret
	for _, m := range r.Machines {
		one.Made = one.Made || m.Secret.Made
		lines = append(lines, fmt.Sprintf("secret  %s  (rank %d)", m.Secret, m.Rank))
	}
	if slices.ContainsFunc(r.Machines, func(m *Machine) bool { return m.Secret.Place != one.Place || m.Secret.Mode != one.Mode }) {
		return lines
	}
	return []string{"secret  " + one.String()}
}

// rate writes bytes per second.
func rate(x float64) string { return number.Bytes.Text(x) + "/s" }

func short(d time.Duration) string { return number.Seconds.Text(d.Seconds()) }

func orDash(s string) string {
	if s == "" {
		return "-"
	}
	return s
}

// known returns n, or a dash where it is not known.
func known(n int) string {
	if n == 0 {
		return "-"
	}
	return strconv.Itoa(n)
}

// Bounds beyond which a line is named.
const (
	slowFactor = 3                     // slower than the middle one by so much
	farAway    = 10 * time.Millisecond // round trip, beyond which machines are hardly in one room
)

// judge adds what the measurements say: nothing of it keeps ranks from training.
func (r *Report) judge() {
	var rates []float64
	mtus := map[int]bool{} // of ways and of interfaces, as far as they are known
	for _, p := range r.outer() {
		rates = append(rates, p.Rate)
		mtus[p.MTU], mtus[r.Machines[p.From].MTU] = true, true
	}
	if len(rates) == 0 {
		return
	}
	delete(mtus, 0)
	slices.Sort(rates)
	middle := rates[len(rates)/2]
	for _, p := range r.outer() {
		if p.Rate*slowFactor < middle {
			r.note(fmt.Sprintf("rows go from rank %d to rank %d at %s, elsewhere at %s", p.From, p.To, rate(p.Rate), rate(middle)),
				fmt.Sprintf("look at cable, switch and speed of %s (`ethtool %s`), and for other programs that use the line", r.Machines[p.From].Host, orName(r.Machines[p.From].Line)))
		}
		if p.From < p.To && p.RoundTrip > farAway {
			r.note(fmt.Sprintf("a message between ranks %d and %d and its answer take %s", p.From, p.To, short(p.RoundTrip)),
				"every layer waits so long for rows of other machines: put them into one network, by cable")
		}
	}
	if len(mtus) > 1 {
		r.note("machines, or the ways between them, have different MTUs", "give all machines and switches the same (`sudo ip link set dev NAME mtu 1500`): large packets may get lost otherwise")
	}
}

// outer are the pairs on two machines.
func (r *Report) outer() (all []Pair) {
	for _, p := range r.Pairs {
		if r.Machines[p.From].Host != r.Machines[p.To].Host {
			all = append(all, p)
		}
	}
	return all
}

func orName(s string) string {
	if s == "" {
		return "NAME"
	}
	return s
}

func (r *Report) note(what, mend string) {
	r.Problems = append(r.Problems, Problem{What: what, Mend: mend})
}
