package runfolder

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"capgnn/cmd/capgnn/internal/term"
	"capgnn/rapa"
)

// machinesOption says how parts lie on machines.
const machinesOption = "machines"

// maxMachines bounds what a list may have.
const maxMachines = 1 << 12

// parseMachines reads how many parts each machine has; one number is that of the machines; "" is nil.
func parseMachines(text string) ([]int, error) {
	if text == "" {
		return nil, nil
	}
	var out []int
	for item := range strings.SplitSeq(text, ",") {
		n, err := strconv.ParseUint(strings.TrimSpace(item), 10, 31)
		if err != nil || n == 0 || n > maxMachines || len(out) == maxMachines {
			return nil, fmt.Errorf("%q is not a number from 1 to %d: give how many machines there are, as in 2, or how many parts each has, as in 4,2", strings.TrimSpace(item), maxMachines)
		}
		out = append(out, int(n))
	}
	return out, nil
}

// checkMachines says what does not go with parts that are cut for machines first.
func (c *Config) checkMachines(p *problems) {
	if c.Net.err != nil {
		p.add("%s: %w", written(NetOption, c.Net), c.Net.err)
	}
	switch {
	case c.Machines.err != nil:
		p.add("--%s %s: %w", machinesOption, c.Machines, c.Machines.err)
	case c.Machines.Value != nil && c.Partitioner != string(rapa.Multilevel) && (c.Isolated.Value == nil || c.Net.Value == nil): // isolated parts on machines are forecast
		p.add("--%s %s with --partitioner %s: only %s cuts machines first: drop one of them", machinesOption, c.Machines, c.Partitioner, rapa.Multilevel)
	}
	c.checkPlan(p)
}

// checkPlan says what a file of parts leaves no room for.
func (c *Config) checkPlan(p *problems) {
	standard := Default()
	for _, o := range Options {
		flag, _ := o.flag()
		if c.Plan == "" || !slices.Contains([]string{machinesOption, "partitioner", "cost", "prune"}, flag) || o.Name == NetOption {
			continue
		}
		random := o.Name == "partitioner" && c.Isolated.Value != nil && c.Partitioner == string(rapa.Random) // as nobody said another
		if x := o.Value(c); x != o.Value(&standard) && !random {
			p.add("%s with --plan: the file has the parts: drop one of them", written(o.Name, x))
		}
	}
}

// PartsOfMachines returns how many of the parts each machine has, in their order; nil: nobody says that there are several.
func (c *Config) PartsOfMachines(parts int) ([]int, error) {
	list := c.Machines.Value
	if parts == 1 && list != nil && !slices.Equal(list, []int{1}) {
		return nil, term.Usagef("--%s %s: 1 part cannot be divided: give more --devices or --parts, or drop it", machinesOption, c.Machines)
	}
	if len(list) == 1 {
		if list[0] > parts || parts%list[0] != 0 {
			return nil, term.Usagef("--%s %s: %s cannot be divided equally: say how many each machine has, as in --%s %s", machinesOption, c.Machines,
				term.Counted(parts, "part"), machinesOption, exampleOf(parts, list[0]))
		}
		return slices.Repeat([]int{parts / list[0]}, list[0]), nil
	}
	sum := 0
	for _, n := range list {
		sum += n
	}
	if list != nil && sum != parts {
		return nil, term.Usagef("--%s %s: that is %s in all, and there are %d", machinesOption, c.Machines, term.Counted(sum, "part"), parts)
	}
	return list, nil
}

// exampleOf divides parts among machines, as equally as they go.
func exampleOf(parts, machines int) string {
	machines = max(2, min(machines, parts))
	list := make([]string, machines)
	for m := range list {
		list[m] = strconv.Itoa(max(1, parts*(m+1)/machines-parts*m/machines))
	}
	return strings.Join(list, ",")
}

// SettleMachines records the machines of a run that says none.
func (c *Config) SettleMachines(partsOf []int) {
	if c.Machines.Value != nil || len(partsOf) < 2 || c.Partitioner != string(rapa.Multilevel) {
		return
	}
	list := make([]string, len(partsOf))
	for m, n := range partsOf {
		list[m] = strconv.Itoa(n)
	}
	c.Set(machinesOption, strings.Join(list, ","))
}
