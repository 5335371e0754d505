//go:build !linux

package kernel

import "testing"

// guarded returns n elements; only on Linux does a page follow them that may not be touched.
func guarded[T any](_ testing.TB, n int) []T { return make([]T, n) }
