package devices

import (
	"cmp"
	"slices"
)

// KindOf returns the first device that is like device i.
func KindOf(specs []Spec, i int) int {
	return slices.IndexFunc(specs, func(e Spec) bool {
		return Alike([]Spec{specs[i], e}) && specs[i].Memory == e.Memory
	})
}

// Choices returns the indices of every choice of devices that differs from the others in what it has, smaller ones
// first.
func Choices(specs []Spec) [][]int {
	kind := make([]int, len(specs))
	for i := range specs {
		kind[i] = KindOf(specs, i)
	}
	choices := [][]int{{}}
	for i := range specs {
		for _, c := range choices {
			// Of one kind, a choice takes the first ones: a device only after all earlier ones of its kind.
			earlier, taken := 0, 0
			for j := range i {
				if kind[j] == kind[i] {
					earlier++
					if slices.Contains(c, j) {
						taken++
					}
				}
			}
			if earlier == taken {
				choices = append(choices, append(slices.Clone(c), i))
			}
		}
	}
	choices = choices[1:]
	slices.SortStableFunc(choices, func(a, b []int) int { return cmp.Compare(len(a), len(b)) })
	return choices
}
