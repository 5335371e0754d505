//go:build !noasm

package host
