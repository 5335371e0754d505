package clustercheck

import (
	"cmp"
	"net"
	"os"

	"capgnn/cmd/capgnn/internal/term"
	"capgnn/gpu"
	"capgnn/hostmem"
)

// Machine is what a rank says of where it runs.
type Machine struct {
	Rank    int            `json:"rank"`
	Host    string         `json:"host"`
	Address string         `json:"address"` // at which the others reach it
	Line    string         `json:"interface"`
	MTU     int            `json:"mtu"` // of that interface; 0: not known
	Program term.BuildInfo `json:"program"`
	Cores   int            `json:"cores"`
	Memory  gpu.Bytes      `json:"memory"` // -1: not known
	Secret  Secret         `json:"secret"`
}

// thisMachine looks at what can be seen without the others.
func thisMachine(rank, cores int, secret Secret) *Machine {
	m := &Machine{Rank: rank, Program: term.ReadBuildInfo(), Cores: cores, Memory: -1, Secret: secret}
	m.Host, _ = os.Hostname()
	m.Host = cmp.Or(m.Host, "localhost")
	if _, total, err := hostmem.Free(); err == nil {
		m.Memory = gpu.Bytes(total)
	}
	return m
}

// at fills in the interface that has an address.
func (m *Machine) at(address string) {
	m.Address = address
	ip := net.ParseIP(address)
	each(func(i net.Interface, n *net.IPNet) {
		if n.IP.Equal(ip) {
			m.Line, m.MTU = i.Name, i.MTU
		}
	})
}

// each calls do with every address of the interfaces that are up.
func each(do func(i net.Interface, n *net.IPNet)) {
	all, _ := net.Interfaces() // a system that does not say has none
	for _, i := range all {
		if i.Flags&net.FlagUp == 0 {
			continue
		}
		addresses, _ := i.Addrs()
		for _, a := range addresses {
			if n, ok := a.(*net.IPNet); ok {
				do(i, n)
			}
		}
	}
}

// outward is the first address at which other machines may reach this one; nil: there is none.
func outward() (found net.IP) {
	each(func(i net.Interface, n *net.IPNet) {
		if found == nil && i.Flags&net.FlagLoopback == 0 && n.IP.IsGlobalUnicast() {
			found = n.IP
		}
	})
	return found
}
