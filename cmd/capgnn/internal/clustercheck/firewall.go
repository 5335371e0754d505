package clustercheck

import (
	"fmt"
	"os/exec"
	"strings"

	"capgnn/internal/regular"
)

// firewall is a program that keeps connections out.
type firewall struct {
	name string
	on   func(h Host) bool // whether it seems to be in use on this machine
	port string            // the command that lets a TCP port in
	from string            // the command that lets a machine in
}

// firewalls are those that people use on Linux. The rules of nft are for the table and chain of Debian's /etc/nftables.conf; theirs and those of
// firewalld hold until the next start.
var firewalls = []firewall{
	{"ufw", func(h Host) bool { return h.says("/etc/ufw/ufw.conf", "ENABLED=yes") },
		"sudo ufw allow %s/tcp", "sudo ufw allow proto tcp from %s"},
	{"firewalld", func(h Host) bool { return h.installed("firewall-cmd") },
		"sudo firewall-cmd --add-port=%s/tcp",
		"sudo firewall-cmd --zone=trusted --add-source=%s"},
	{"nft", func(h Host) bool { return h.installed("nft") },
		"sudo nft insert rule inet filter input tcp dport %s accept", "sudo nft insert rule inet filter input %s accept"},
}

// Host answers what a check asks of the machine that it is on, so that tests need not ask theirs.
type Host struct {
	Path func(program string) (string, error) // finds a program; nil: exec.LookPath
	Read func(file string) ([]byte, error)    // reads a small file; nil: that of the system
}

func (h Host) installed(program string) bool {
	find := h.Path
	if find == nil {
		find = exec.LookPath
	}
	_, err := find(program)
	return err == nil
}

// says reports whether a file has a line that begins so.
func (h Host) says(file, line string) bool {
	read := h.Read
	if read == nil {
		read = func(file string) ([]byte, error) { return regular.ReadFile(file, 1<<16) }
	}
	text, err := read(file)
	return err == nil && strings.Contains("\n"+string(text), "\n"+line)
}

// Rule is what opens a firewall.
type Rule struct {
	Firewall string `json:"firewall"`
	Port     string `json:"port_rule"` // lets the port of rank 0 in
	From     string `json:"from_rule"` // lets another machine in at every port; ADDRESS stands for it
}

// rules returns the commands of the firewall that the machine seems to have, else of all.
func (h Host) rules(port string) (all []Rule) {
	for _, f := range firewalls {
		address := "ADDRESS"
		if f.name == "nft" {
			address = "ip saddr ADDRESS"
		}
		r := Rule{f.name, fmt.Sprintf(f.port, port), fmt.Sprintf(f.from, address)}
		if f.on(h) {
			return []Rule{r}
		}
		all = append(all, r)
	}
	return all
}
