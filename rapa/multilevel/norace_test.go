//go:build !race

package multilevel

const underRace = false
