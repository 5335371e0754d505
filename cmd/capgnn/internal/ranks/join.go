package ranks

import (
	"fmt"

	"capgnn/cluster"
	"capgnn/cluster/tcp"
)

// Compare is what rank 0 asks of those that want to join (tcp.Options.Compare): whether they agree in all that decides the bits of a
// run. note gets a line for each rank whose results may be rounded differently.
func Compare(note func(line string)) func(members []tcp.Member) error {
	return func(members []tcp.Member) error {
		all := make([]cluster.Facts, len(members))
		for i, m := range members {
			f, err := cluster.DecodeFacts(m.Facts)
			if err != nil {
				return fmt.Errorf("rank %d (host %.64q): %w", m.Rank, m.Host, err)
			}
			if f.Rank != m.Rank {
				return fmt.Errorf("rank %d (host %.64q) says that it is rank %d: this is a fault of the program, please report it", m.Rank, m.Host, f.Rank)
			}
			all[i] = f
		}
		if err := cluster.Compare(all); err != nil {
			return err
		}
		for _, line := range cluster.Warnings(all) {
			note(line)
		}
		return nil
	}
}
