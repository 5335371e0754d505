package cluster

import (
	"net"
	"strconv"
	"strings"
	"testing"
)

func TestAddress(t *testing.T) {
	for _, tc := range []struct{ text, port, want string }{
		{"node1", "", "node1:29500"},
		{"node1", "1234", "node1:1234"},
		{"node1:77", "", "node1:77"},
		{"node1:77", "77", "node1:77"},
		{"10.0.0.1", "", "10.0.0.1:29500"},
		{"10.0.0.1:8", "", "10.0.0.1:8"},
		{"[2001:db8::1]:8", "", "[2001:db8::1]:8"},
		{"[2001:db8::1]", "9", "[2001:db8::1]:9"},
		{"2001:db8::1", "9", "[2001:db8::1]:9"},
		{"fe80::1%eth0", "", "[fe80::1%eth0]:29500"},
		{"::1", "", "[::1]:29500"},
		{"localhost", "00080", "localhost:80"},
		{"node-1.example.org.", "", "node-1.example.org.:29500"},
		{"my_service.ns.svc", "", "my_service.ns.svc:29500"},
	} {
		if got, err := Address(tc.text, tc.port); err != nil || got != tc.want {
			t.Errorf("%q, port %q: %q, %v, want %q", tc.text, tc.port, got, err, tc.want)
		}
	}
	for _, tc := range []struct{ text, port, says string }{
		{"", "", "is no address"},
		{"node1:", "", "port after the colon is missing"},
		{":80", "", "give a host name"},
		{"node1:77", "78", "drop one"},
		{"node1", "0", "1 to 65535"},
		{"node1", "65536", "1 to 65535"},
		{"node1", "-1", "1 to 65535"},
		{"node1:http", "", "1 to 65535"},
		{"[::1", "", "[2001:db8::1]:29500"},
		{"[::1]x", "", "[2001:db8::1]:29500"},
		{"[::1]:", "", "[2001:db8::1]:29500"},
		{"[10.0.0.1]:8", "", "[2001:db8::1]:29500"},
		{"[node1]:8", "", "[2001:db8::1]:29500"},
		{"::g", "", "neither IPv6 nor host:port"},
		{"10.0.0.256", "", "neither an IP address nor the name"},
		{"10.0.1", "", "neither an IP address nor the name"},
		{"0.0.0.0", "", "no single machine has it"},
		{"::", "", "no single machine has it"},
		{"::ffff:0.0.0.0", "", "no single machine has it"},
		{"[::ffff:255.255.255.255]:1", "", "no single machine has it"},
		{"ff02::1", "", "no single machine has it"},
		{"224.0.0.1", "", "no single machine has it"},
		{"255.255.255.255", "", "no single machine has it"},
		{"-oProxyCommand=ls", "", "give a host name"},
		{"a b", "", "give a host name"},
		{"a..b", "", "give a host name"},
		{"http://node1", "", "1 to 65535"},
		{"http://node1:80", "", "neither IPv6 nor host:port"},
		{"nöde", "", "give a host name"},
		{"a\nb", "", "give a host name"},
		{strings.Repeat("a", 64), "", "give a host name"},
		{strings.Repeat("a.", 127) + "a", "", "at most 253"},
	} {
		got, err := Address(tc.text, tc.port)
		if err == nil || !strings.Contains(err.Error(), tc.says) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%q, port %q: %q, %v, want an error with %q", tc.text, tc.port, got, err, tc.says)
		}
	}
}

func FuzzAddress(f *testing.F) {
	for _, s := range []string{"node1", "node1:77", "[2001:db8::1]:8", "fe80::1%eth0", "[::1]", "10.0.0.256", "-x", "::ffff:0.0.0.0"} {
		f.Add(s, "")
		f.Add(s, "123")
	}
	f.Fuzz(func(t *testing.T, text, port string) {
		got, err := Address(text, port)
		if err != nil {
			return
		}
		host, p, err := net.SplitHostPort(got)
		if n, err := strconv.Atoi(p); err != nil || n < 1 || n > 65535 {
			t.Errorf("%q, %q: port of %q", text, port, got)
		}
		if err != nil || checkHost(host) != nil || strings.HasPrefix(host, "-") {
			t.Errorf("%q, %q: host of %q", text, port, got)
		}
		if again, err := Address(got, ""); err != nil || again != got {
			t.Errorf("%q, %q: %q becomes %q, %v", text, port, got, again, err)
		}
	})
}
