//go:build !linux

package tcp

import (
	"net"
	"time"
)

// setUserTimeout does nothing here: heartbeats notice a cut link.
func setUserTimeout(*net.TCPConn, time.Duration) {}
