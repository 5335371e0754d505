package ranks

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/urfave/cli/v2"

	"capgnn/cluster"
	"capgnn/cmd/capgnn/internal/term"
)

// GroupMachines is the group of help that Flags are in.
const GroupMachines = "Several machines"

// Patience is how long a rank that was interrupted may take to end with the others.
const Patience = 20 * time.Second

// Values of --transport.
const (
	transportTLS   = "tcp"
	transportPlain = "tcp-plain"
	transportMPI   = "mpi"
)

var transports = []string{transportTLS, transportPlain, transportMPI}

// Settings say where a process stands among the ranks of a run, and how it finds and trusts them.
type Settings struct {
	cluster.Place
	Secret                   []byte // nil: there is none
	Plain                    bool   // rows travel without TLS
	MPI                      bool   // rows travel by MPI, which also says where rank 0 is if Master is empty
	JoinTimeout, PeerTimeout time.Duration
}

// Several reports whether there are other ranks.
func (s *Settings) Several() bool { return s.Ranks > 1 }

// Flags are those of a command that runs over several machines.
func Flags() []cli.Flag {
	return []cli.Flag{
		&cli.StringFlag{Name: "rank", Category: GroupMachines, Usage: "number `R` of this process, from 0 (default: from RANK, WORLD_SIZE and MASTER_ADDR, or the variables of mpirun, srun or Kubernetes)"},
		&cli.StringFlag{Name: "ranks", Category: GroupMachines, Usage: "number `N` of processes"},
		&cli.StringFlag{Name: "master", Category: GroupMachines, Usage: "where rank 0 listens: `HOST`, HOST:PORT or [IPV6]:PORT (default port: 29500)"},
		&cli.StringFlag{Name: "secret-file", Category: GroupMachines, Usage: "`FILE` with the secret that all ranks share (default: CAPGNN_SECRET, else the file that `capgnn doctor --cluster` makes)"},
		&cli.DurationFlag{Name: "join-timeout", Category: GroupMachines, Usage: "how long to wait for all ranks: a `TIME`", Value: 5 * time.Minute},
		&cli.DurationFlag{Name: "peer-timeout", Category: GroupMachines, Usage: "how long a rank may be silent until it counts as lost: a `TIME`", Value: time.Minute},
		&cli.StringFlag{Name: "transport", Category: GroupMachines, Usage: "`HOW` rows travel between ranks: tcp (TLS), tcp-plain (faster; not encrypted), or mpi (the MPI that started them; not encrypted)", Value: transportTLS},
	}
}

// FromContext reads the flags of a command, the environment and the secret. Several is false where nothing speaks of others.
func FromContext(c *cli.Context) (s Settings, err error) {
	flags := cluster.Flags{Rank: c.String("rank"), Ranks: c.String("ranks"), Master: c.String("master")}
	if err := s.transport(c.String("transport")); err != nil {
		return s, err
	}
	s.Place, err = cluster.Find(flags, os.LookupEnv)
	if homeless := (*cluster.Homeless)(nil); err != nil && !(s.MPI && errors.As(err, &homeless)) {
		return s, term.AsUsage(err)
	}
	if s.MPI && s.Ranks == 0 {
		return s, term.AsUsage(fmt.Errorf("--transport mpi: %w", errNoMPI))
	}
	s.JoinTimeout, s.PeerTimeout = c.Duration("join-timeout"), c.Duration("peer-timeout")
	for name, d := range map[string]time.Duration{"join-timeout": s.JoinTimeout, "peer-timeout": s.PeerTimeout} {
		if d <= 0 {
			return s, term.Usagef("--%s %v: give a time above 0, such as 60s", name, d)
		}
	}
	if c.IsSet("secret-file") && c.String("secret-file") == "" {
		return s, term.Usagef("--secret-file is empty: name a file, or drop it")
	}
	if s.Several() || c.IsSet("secret-file") {
		s.Secret, err = Secret(c.String("secret-file"), os.LookupEnv)
	}
	return s, err
}

// transport reads the value of --transport.
func (s *Settings) transport(how string) error {
	switch how {
	case transportTLS:
	case transportPlain:
		s.Plain = true
	case transportMPI:
		s.MPI = true
		return mpiBuilt()
	default:
		return term.Usagef("--transport %s is not one of %s", term.Quoted(how, transports), strings.Join(transports, ", "))
	}
	return nil
}

// trust refuses to reach other machines without a secret. On this one it takes the loopback address of Master, so that all ranks take
// the same one, and a secret that only processes of this user know: others reach loopback addresses, too.
func (s *Settings) trust(ctx context.Context) error {
	if s.Secret != nil {
		return nil
	}
	host, port, err := net.SplitHostPort(s.Master)
	if err != nil {
		return term.AsUsage(err)
	}
	found, _ := net.DefaultResolver.LookupIPAddr(ctx, host) // what is not known is not this machine
	own := slices.DeleteFunc(found, func(a net.IPAddr) bool { return !a.IP.IsLoopback() })
	if len(own) > 0 {
		first := slices.MinFunc(own, func(a, b net.IPAddr) int { return bytes.Compare(a.IP.To16(), b.IP.To16()) })
		s.Master = net.JoinHostPort(first.IP.String(), port)
		s.Secret, err = ownSecret()
		return term.AsUsage(err)
	}
	return term.Usagef("join rank 0 at %s: there is no secret, which ranks of several machines need: %s; copy its file to all of them", s.Master, makesSecret)
}
