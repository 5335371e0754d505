//go:build !unix

package regular

const withoutWaiting = 0
