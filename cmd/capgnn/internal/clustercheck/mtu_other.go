//go:build !linux

package clustercheck

import "net"

// pathMTU returns the largest packet on the way to an address; 0: the system does not say.
func pathMTU(net.IP) int { return 0 }
