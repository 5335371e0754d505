package clustercheck

import (
	"fmt"
	"net"
	"os"
	"strings"

	"capgnn/cluster"
	"capgnn/cmd/capgnn/internal/term"
)

// oneMTU is what helps where small messages arrive and large ones do not.
const oneMTU = "give all machines and switches between them one MTU (sudo ip link set dev NAME mtu 1500)"

// advised adds to the error of ranks that did not join what helps. doubt is what was not right, but might have been.
func (h Host) advised(err error, p cluster.Place, s Secret, doubt *Problem) error {
	what := h.advice(err.Error(), p, s)
	if doubt != nil {
		what = doubt.What + ": " + doubt.Mend
	}
	if what == "" || term.ExitCode(err) != term.ExitUsage {
		return err
	}
	return term.Usagef("%w: %s", err, what)
}

// advice says what helps where ranks do not join, by the line that says why; "": the line says it itself.
func (h Host) advice(line string, p cluster.Place, s Secret) string {
	host, port, _ := net.SplitHostPort(p.Master)
	has := func(texts ...string) bool {
		for _, t := range texts {
			if strings.Contains(line, t) {
				return true
			}
		}
		return false
	}
	switch {
	case has("another secret", "without TLS") && s.Place == secretVariable:
		return "give " + secretVariable + " one value at all ranks, or none"
	case has("another secret", "without TLS"):
		return copySecret(host, s.Place, os.LookupEnv)
	case has("no loopback address, and there is no secret"):
		return "`capgnn doctor --cluster` makes one on rank 0's machine; copy it to the others"
	case has("address already in use"):
		return fmt.Sprintf("`ss -ltnp sport = :%s` names it", port)
	case has("does not look like a TLS"):
		return fmt.Sprintf("another program answers at port %s of %s: start rank 0 there, with another port at all ranks, as --ranks master=HOST:PORT", port, host)
	case has("cannot assign requested address"):
		return fmt.Sprintf("start rank 0 on the machine that has the address %s, or give --ranks master= the address of the machine that it is on", host)
	case has("no such host", "server misbehaving"):
		return fmt.Sprintf("write the address of %s into /etc/hosts of this machine, or give --ranks master= an IP address", host)
	case has("read tcp", "context deadline exceeded") && has("i/o timeout", "deadline"): // the first packets came, which are small
		return oneMTU
	case has("did not join"):
		return fmt.Sprintf("where ranks run, a firewall on %s has to let TCP port %s in (for example `%s`)", host, port, h.rules(port)[0].Port)
	case has("no route to host", "timeout", "unreachable", "a firewall may be"):
		return fmt.Sprintf("let TCP port %s in on %s (for example `%s`)", port, host, h.rules(port)[0].Port)
	}
	return ""
}
