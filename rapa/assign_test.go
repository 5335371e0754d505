package rapa

import (
	"errors"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
)

// orders calls visit with every way to give rows one of cols columns each, in lexicographic order.
func orders(rows, cols int, visit func([]int)) {
	var extend func([]int)
	extend = func(head []int) {
		if len(head) == rows {
			visit(head)
			return
		}
		for c := range cols {
			if !slices.Contains(head, c) {
				extend(append(slices.Clone(head), c))
			}
		}
	}
	extend(nil)
}

// TestAssignAgainstAllOrders compares with the first of the best of all assignments.
func TestAssignAgainstAllOrders(t *testing.T) {
	r := rand.New(rand.NewPCG(8, 8))
	infeasible := 0
	for round := range 300 {
		rows := 1 + r.IntN(5)
		cols := rows + r.IntN(2)
		parts, costs, have := make([]Counts, rows), make([]PartCost, cols), make([]int64, cols)
		for i := range parts {
			parts[i] = Counts{Inner: 1 + r.Int64N(6), Edges: r.Int64N(20)}
		}
		for d := range costs {
			costs[d] = PartCost{Fixed: float64(r.IntN(3)), PerInner: float64(r.IntN(3)), PerEdge: 1 + float64(r.IntN(3))}
			if round%2 == 0 {
				have[d] = r.Int64N(9)
			}
		}
		foot := Footprint{PerInner: 1, PerEdge: 0, Fixed: 1}
		var want []int
		best := math.Inf(1)
		orders(rows, cols, func(device []int) {
			worst := 0.0
			for i, d := range device {
				if have[d] > 0 && foot.Of(parts[i]) > have[d] {
					return
				}
				worst = max(worst, costs[d].Of(parts[i]))
			}
			if worst < best {
				best, want = worst, device
			}
		})
		got, err := Assign(parts, costs, foot, have)
		var short *InfeasibleError
		switch {
		case want == nil && (!errors.As(err, &short) || len(short.Short) == 0):
			t.Fatalf("nothing fits, got %v, %v", got, err)
		case want == nil:
			infeasible++
		case err != nil || !slices.Equal(got, want):
			t.Fatalf("round %d: %v (%v), want %v", round, got, err, want)
		}
	}
	if infeasible < 20 {
		t.Errorf("only %d cases fit nowhere", infeasible)
	}
}

// TestAssignShortage: parts of 11 and 6 bytes on devices of 8 and 5. As it stands part 0 lacks 3 and part 1 one byte, the
// other way round part 0 lacks 6: the first is named.
func TestAssignShortage(t *testing.T) {
	_, err := Assign([]Counts{{Inner: 10}, {Inner: 5}}, []PartCost{{PerInner: 1}, {PerInner: 1}}, Footprint{Fixed: 1, PerInner: 1}, []int64{8, 5})
	var e *InfeasibleError
	if !errors.As(err, &e) || len(e.Short) != 2 || e.MoreBytes() != 4 || e.Short[0].HaveBytes != 8 {
		t.Errorf("error is %v", err)
	}
}

func TestAssignErrors(t *testing.T) {
	one := []PartCost{{PerInner: 1}}
	if _, err := Assign(make([]Counts, 2), one, Footprint{}, nil); err == nil {
		t.Error("two parts on one device: accepted")
	}
	if _, err := Assign(make([]Counts, 1), []PartCost{{}}, Footprint{}, nil); err == nil {
		t.Error("free device: accepted")
	}
	if got, err := Assign(nil, one, Footprint{}, nil); err != nil || len(got) != 0 {
		t.Errorf("no parts: %v, %v", got, err)
	}
}
