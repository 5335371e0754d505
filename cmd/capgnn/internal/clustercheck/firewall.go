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
	on   func() bool // whether it seems to be in use on this machine
	port string      // the command that lets a TCP port in
	from string      // the command that lets a machine in
}

// firewalls are those that people use on Linux. The rules of nft are for the table and chain of Debian's /etc/nftables.conf; theirs and those of
// firewalld hold until the next start.
var firewalls = []firewall{
	{"ufw", func() bool { return fileSays("/etc/ufw/ufw.conf", "ENABLED=yes") },
		"sudo ufw allow %s/tcp", "sudo ufw allow proto tcp from %s"},
	{"firewalld", func() bool { return installed("firewall-cmd") },
		"sudo firewall-cmd --add-port=%s/tcp",
		"sudo firewall-cmd --zone=trusted --add-source=%s"},
	{"nft", func() bool { return installed("nft") },
		"sudo nft insert rule inet filter input tcp dport %s accept", "sudo nft insert rule inet filter input %s accept"},
}

func fileSays(path, line string) bool {
	text, err := regular.ReadFile(path, 1<<16)
	return err == nil && strings.Contains("\n"+string(text), "\n"+line)
}

func installed(program string) bool {
	_, err := exec.LookPath(program)
	return err == nil
}

// Rule is what opens a firewall.
type Rule struct {
	Firewall string `json:"firewall"`
	Port     string `json:"port_rule"` // lets the port of rank 0 in
	From     string `json:"from_rule"` // lets another machine in at every port; ADDRESS stands for it
}

// rules returns the commands of the firewall that this machine seems to have, else of all.
func rules(port string) (all []Rule) {
	for _, f := range firewalls {
		address := "ADDRESS"
		if f.name == "nft" {
			address = "ip saddr ADDRESS"
		}
		r := Rule{f.name, fmt.Sprintf(f.port, port), fmt.Sprintf(f.from, address)}
		if f.on() {
			return []Rule{r}
		}
		all = append(all, r)
	}
	return all
}
