package runfolder

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"capgnn/cmd/capgnn/internal/devices"
	"capgnn/cmd/capgnn/internal/term"
)

// NetOption says what connects machines.
const NetOption = "machines.net"

// Net is what connects machines, or ranks where several are on one.
type Net struct {
	Every devices.Line     // between any two, unless there are Pairs
	Pairs [][]devices.Line // by sender and reader
	File  string           // a profile that has measured Pairs; "": they are said
}

// parseNet reads a line for all pairs, the file of a profile, or what FormatPairs writes; "" is nil.
func parseNet(text string) (*Net, error) {
	switch {
	case text == "":
		return nil, nil
	case strings.HasSuffix(text, ".json"):
		return &Net{File: text}, nil
	case strings.Contains(text, ">"):
		pairs, err := parsePairs(text)
		return &Net{Pairs: pairs}, err
	}
	l, err := devices.ParseLine(text)
	return &Net{Every: l}, err
}

// FormatPairs writes lines by sender and reader.
func FormatPairs(lines [][]devices.Line) string {
	var all []string
	for i := range lines {
		for j, l := range lines[i] {
			if i != j {
				all = append(all, fmt.Sprintf("%d>%d=%s", i, j, devices.FormatLine(l)))
			}
		}
	}
	return strings.Join(all, ";")
}

// parsePairs reads what FormatPairs writes.
func parsePairs(text string) ([][]devices.Line, error) {
	items := strings.Split(text, ";")
	n := 2
	for n*(n-1) < len(items) {
		n++
	}
	if n*(n-1) != len(items) || n > maxMachines {
		return nil, fmt.Errorf("%d pairs are not those of any number of machines", len(items))
	}
	lines, given := make([][]devices.Line, n), 0
	for i := range lines {
		lines[i] = make([]devices.Line, n)
	}
	for _, item := range items {
		pair, line, _ := strings.Cut(item, "=")
		from, to, _ := strings.Cut(pair, ">")
		i, err := strconv.Atoi(from)
		j, err2 := strconv.Atoi(to)
		if err != nil || err2 != nil || i < 0 || i >= n || j < 0 || j >= n || i == j {
			return nil, fmt.Errorf("%q are not two machines of %d", pair, n)
		}
		if lines[i][j], err = devices.ParseLine(line); err != nil {
			return nil, err
		}
		given++
	}
	for i := range lines {
		if slices.IndexFunc(lines[i], func(l devices.Line) bool { return l.BytesPerSec == 0 }) != i {
			return nil, fmt.Errorf("not all pairs of machine %d are there", i)
		}
	}
	return lines, nil
}

// LinesBetween returns what connects so many machines, by sender and reader: the first ones, where more were measured; nil: nothing is known.
func (c *Config) LinesBetween(machines int) ([][]devices.Line, error) {
	n := c.Net.Value
	switch {
	case n == nil:
		return nil, nil
	case n.File != "":
		return nil, fmt.Errorf("%s has not been read", written(NetOption, n.File))
	case n.Pairs == nil:
		return slices.Repeat([][]devices.Line{slices.Repeat([]devices.Line{n.Every}, machines)}, machines), nil
	case len(n.Pairs) < machines:
		return nil, term.Usagef("%s: it connects %s, and there are %d: measure all with `capgnn profile --cluster`, or give one rate for all", Label(NetOption), term.Counted(len(n.Pairs), "machine"), machines)
	}
	var lines [][]devices.Line
	for _, row := range n.Pairs[:machines] {
		lines = append(lines, row[:machines])
	}
	return lines, nil
}
