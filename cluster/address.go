package cluster

import (
	"errors"
	"fmt"
	"net"
	"net/netip"
	"strconv"
	"strings"
)

// DefaultPort is the port of rank 0 by default.
const DefaultPort = 29500

// maxHostName is the length of the longest name that the domain name system has, in bytes.
const maxHostName = 253

// Address returns host:port in the syntax of net.Dial. text is a host name or an IP address, without port, as
// host:port or as [v6]:port; port is a separate port, "" for none. Without any port it is DefaultPort.
func Address(text, port string) (string, error) {
	host, own, err := splitAddress(text)
	if err != nil {
		return "", err
	}
	switch {
	case own == "" && port == "":
		port = strconv.Itoa(DefaultPort)
	case port == "":
		port = own
	case own != "" && own != port:
		return "", fmt.Errorf("%q has another port than %q: drop one", text, port)
	}
	n, err := strconv.ParseUint(port, 10, 16)
	if err != nil || n == 0 {
		return "", fmt.Errorf("port %q is no number from 1 to 65535", port)
	}
	return net.JoinHostPort(host, strconv.FormatUint(n, 10)), nil
}

// splitAddress returns the host of an address without brackets, checked, and its port as it was written, "" for none.
func splitAddress(text string) (host, port string, err error) {
	host = text
	switch {
	case strings.HasPrefix(text, "["):
		inner, rest, closed := strings.Cut(text[1:], "]")
		if _, err := netip.ParseAddr(inner); err != nil || !closed || !strings.Contains(inner, ":") || rest != "" && rest[0] != ':' || rest == ":" {
			return "", "", fmt.Errorf("%q is no address: write IPv6 as [2001:db8::1]:%d", text, DefaultPort)
		}
		host, port = inner, strings.TrimPrefix(rest, ":")
	case strings.Count(text, ":") == 1:
		host, port, _ = strings.Cut(text, ":")
		if port == "" {
			return "", "", fmt.Errorf("%q is no address: the port after the colon is missing", text)
		}
	}
	if err := checkHost(host); err != nil {
		return "", "", fmt.Errorf("%q is no address: %w", text, err)
	}
	return host, port, nil
}

// checkHost reports what is wrong with a host name or an IP address that others are to reach.
func checkHost(host string) error {
	if ip, err := netip.ParseAddr(host); err == nil {
		if ip = ip.Unmap(); ip.IsUnspecified() || ip.IsMulticast() || ip == netip.AddrFrom4([4]byte{255, 255, 255, 255}) {
			return errors.New("no single machine has it: give the one of rank 0")
		}
		return nil
	}
	if strings.Contains(host, ":") {
		return errors.New("it is neither IPv6 nor host:port")
	}
	return checkName(host)
}

// checkName reports what is wrong with the name of a host. A name never begins with a dash, which programs take for an option,
// and its last label is no number, as those are IPv4 addresses with a slip.
func checkName(name string) error {
	labels := strings.Split(strings.TrimSuffix(name, "."), ".")
	if len(name) > maxHostName {
		return fmt.Errorf("a name has at most %d characters", maxHostName)
	}
	for _, label := range labels {
		if label == "" || len(label) > 63 || strings.IndexFunc(label, notInNames) >= 0 || label[0] == '-' {
			return errors.New("give a host name of letters, digits, dashes and dots, or an IP address")
		}
	}
	if last := labels[len(labels)-1]; len(labels) > 1 && strings.Trim(last, "0123456789") == "" {
		return errors.New("it is neither an IP address nor the name of a host")
	}
	return nil
}

// notInNames reports whether a host name has no such character. Underscores are in no standard, but in names of containers.
func notInNames(r rune) bool {
	return !(r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || r == '-' || r == '_')
}
