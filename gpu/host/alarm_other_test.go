//go:build !linux

package host

func withoutTimer() *alarm { return &alarm{} }
