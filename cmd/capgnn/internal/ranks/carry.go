package ranks

import (
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/netip"
	"os"
	"slices"
	"time"

	"capgnn/cluster"
	"capgnn/cmd/capgnn/internal/term"
)

// rowTransport is what carries rows in place of connections of our own: package mpi.
type rowTransport interface {
	Rank() int
	Ranks() int
	Library() string
	Conn(rank int) net.Conn
	Close(finalize bool, within time.Duration) error
}

// errNoMPI is --transport mpi without ranks, or with those that somebody else started.
var errNoMPI = errors.New("no MPI started this process: start ranks with mpirun, or with srun --mpi=pmix")

// carry begins MPI, which has to have the ranks of this run. Where nobody has said where rank 0 is, its ranks tell each other.
func carry(ctx context.Context, k *term.Console, s *Settings) (rowTransport, error) {
	c, err := openMPI(ctx)
	switch {
	case err != nil && ctx.Err() != nil:
		return nil, &term.InterruptedError{Note: "while MPI began: nothing was changed"}
	case err != nil:
		return nil, term.AsUsage(fmt.Errorf("--transport mpi: %w", err))
	case c.Rank() != s.Rank || c.Ranks() != s.Ranks:
		return nil, term.Usagef("--transport mpi: %s says that this is rank %d of %d, %s rank %d of %d: start ranks with its own mpirun, or with srun --mpi=pmix",
			c.Library(), c.Rank(), c.Ranks(), s.Source, s.Rank, s.Ranks)
	}
	if s.Master == "" {
		if s.Master, err = meet(c, os.Getenv("MASTER_PORT"), time.Now().Add(s.JoinTimeout)); err != nil {
			return nil, term.AsUsage(fmt.Errorf("--transport mpi: %w", err))
		}
	}
	if s.Rank == 0 {
		k.Note("rows travel by %s", c.Library())
	}
	return c, nil
}

// standing is what a rank says of itself before anybody knows where rank 0 is.
type standing struct {
	Machine   string         `json:"machine"`
	Addresses []netip.Prefix `json:"addresses"` // of this machine, but for loopback
}

// meet returns the address of rank 0, which it finds by what all ranks say.
func meet(c rowTransport, port string, until time.Time) (string, error) {
	own := standing{thisHost() + " " + boot(), addresses()}
	if c.Rank() != 0 {
		conn := c.Conn(0)
		conn.SetDeadline(until)
		defer conn.SetDeadline(time.Time{})
		var master string
		err := say(conn, own)
		if err == nil {
			err = hear(conn, &master)
		}
		if err == nil && master == "" {
			err = errNoAddress
		}
		return master, err
	}
	all := []standing{own}
	for r := 1; r < c.Ranks(); r++ {
		c.Conn(r).SetDeadline(until)
		defer c.Conn(r).SetDeadline(time.Time{})
		var other standing
		if err := hear(c.Conn(r), &other); err != nil {
			return "", fmt.Errorf("hear where rank %d is: %w", r, err)
		}
		all = append(all, other)
	}
	master, err := "", errNoAddress
	if at := home(all); at != "" {
		master, err = cluster.Address(at, port)
	}
	for r := 1; r < c.Ranks(); r++ {
		if e := say(c.Conn(r), master); e != nil {
			err = errors.Join(err, e)
		}
	}
	return master, err
}

var errNoAddress = errors.New("rank 0 has no address in a network: set MASTER_ADDR to its name on all ranks")

// home returns the address of the first rank that the others reach: of its first network that all the others have, too; else its first
// address, as networks may be joined by routers. Loopback where all are on one machine.
func home(all []standing) string {
	root, others := all[0], all[1:]
	if !slices.ContainsFunc(others, func(s standing) bool { return s.Machine != root.Machine }) {
		return "127.0.0.1"
	}
	for _, a := range root.Addresses {
		near := func(s standing) bool {
			return s.Machine == root.Machine || slices.ContainsFunc(s.Addresses, func(b netip.Prefix) bool {
				return b.Addr() != a.Addr() && a.Contains(b.Addr()) // machines may have equal networks of their own, as of containers
			})
		}
		if !slices.ContainsFunc(others, func(s standing) bool { return !near(s) }) {
			return a.Addr().String()
		}
	}
	if len(root.Addresses) > 0 {
		return root.Addresses[0].Addr().String()
	}
	return ""
}

// addresses are those of this machine by which others may reach it.
func addresses() []netip.Prefix {
	var out []netip.Prefix
	list, err := net.InterfaceAddrs()
	if err != nil {
		return nil
	}
	for _, a := range list {
		if p, err := netip.ParsePrefix(a.String()); err == nil && p.Addr().IsGlobalUnicast() {
			out = append(out, p)
		}
	}
	return out
}

// say and hear send JSON behind its length, 4 bytes.
func say(w io.Writer, v any) error {
	text, err := json.Marshal(v)
	if err != nil {
		return err
	}
	_, err = w.Write(append(binary.LittleEndian.AppendUint32(nil, uint32(len(text))), text...))
	return err
}

func hear(r io.Reader, v any) error {
	var n [4]byte
	if _, err := io.ReadFull(r, n[:]); err != nil {
		return err
	}
	length := binary.LittleEndian.Uint32(n[:])
	if length > cluster.MaxText {
		return fmt.Errorf("%d bytes are announced, %d are allowed", length, cluster.MaxText)
	}
	text := make([]byte, length)
	if _, err := io.ReadFull(r, text); err != nil {
		return err
	}
	if err := cluster.CheckDepth(text, 4); err != nil {
		return err
	}
	return json.Unmarshal(text, v)
}
