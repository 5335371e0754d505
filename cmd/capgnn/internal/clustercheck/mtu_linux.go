package clustercheck

import (
	"net"
	"syscall"
)

// pathMTU returns the largest packet on the way to an address, as the system knows it after it has sent there; 0: it does not say.
func pathMTU(ip net.IP) (mtu int) {
	conn, err := net.DialUDP("udp", nil, &net.UDPAddr{IP: ip, Port: 9}) // sends nothing
	if err != nil {
		return 0
	}
	defer conn.Close()
	raw, err := conn.SyscallConn()
	if err != nil {
		return 0
	}
	level, option := syscall.IPPROTO_IP, syscall.IP_MTU
	if ip.To4() == nil {
		level, option = syscall.IPPROTO_IPV6, syscall.IPV6_MTU
	}
	_ = raw.Control(func(fd uintptr) {
		if n, err := syscall.GetsockoptInt(int(fd), level, option); err == nil {
			mtu = n
		}
	})
	return mtu
}
