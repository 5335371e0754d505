package ranks

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"slices"
	"time"

	"github.com/urfave/cli/v2"

	"capgnn/cluster"
	"capgnn/cmd/capgnn/internal/runfolder"
	"capgnn/cmd/capgnn/internal/term"
)

// Patience is how long a rank that was interrupted may take to end with the others.
const Patience = 20 * time.Second

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

// Flags are the names of the flags of a command that runs over several machines.
var Flags = []string{ranksFlag, transportFlag}

const (
	ranksFlag     = "ranks"
	transportFlag = "transport"
)

// FromContext reads the flags of a command, the environment and the secret. Several is false where nothing speaks of others.
func FromContext(c *cli.Context) (s Settings, err error) {
	how, err := runfolder.Said(c, transportFlag)
	if err != nil {
		return s, err
	}
	s.Plain, s.MPI = how[""] == runfolder.TransportPlain, how[""] == runfolder.TransportMPI
	if s.MPI {
		if err := mpiBuilt(); err != nil {
			return s, err
		}
	}
	s.Place, err = Find(c)
	if homeless := (*cluster.Homeless)(nil); err != nil && !(s.MPI && errors.As(err, &homeless)) {
		return s, term.AsUsage(err)
	}
	if s.MPI && s.Ranks == 0 {
		return s, term.AsUsage(fmt.Errorf("--transport mpi: %w", errNoMPI))
	}
	for key, d := range map[string]*time.Duration{"join-timeout": &s.JoinTimeout, "peer-timeout": &s.PeerTimeout} {
		if *d, err = time.ParseDuration(how[key]); err != nil || *d <= 0 {
			return s, term.Usagef("--%s %s=%s: give a time above 0, such as 60s", transportFlag, key, how[key])
		}
	}
	named := runfolder.Gives(c, transportFlag, "secret")
	if s.Several() || named {
		s.Secret, err = Secret(how["secret"], os.LookupEnv)
	}
	return s, err
}

// Find returns where this process stands among the ranks of a run.
func Find(c *cli.Context) (cluster.Place, error) {
	said, err := runfolder.Said(c, ranksFlag)
	if err != nil {
		return cluster.Place{}, err
	}
	return cluster.Find(cluster.Flags{Ranks: said[""], Rank: said["rank"], Master: said["master"]}, os.LookupEnv)
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
