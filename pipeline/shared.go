package pipeline

import (
	"context"
	"encoding/json"
	"fmt"
	"io"

	"capgnn/internal/checkpoint"
)

// A checkpoint of several ranks is written and read by rank 0, as one process does. What lies at others passes between them a piece at a time, by calls that all
// ranks make in one order: so each section is read to its end at every rank.

// fromRank is a section of another rank, as rank 0 reads it.
type fromRank struct {
	t    *Trainer
	rank int
	size int64
	left int64  // to be gathered
	rest []byte // of the piece gathered last
}

// section returns one of another rank.
func (t *Trainer) section(rank int, size int64) *fromRank {
	return &fromRank{t: t, rank: rank, size: size, left: size}
}

// Size implements checkpoint.Section.
func (s *fromRank) Size() int64 { return s.size }

// Read implements io.Reader.
func (s *fromRank) Read(p []byte) (int, error) {
	if len(s.rest) == 0 && s.left == 0 {
		return 0, io.EOF
	}
	if len(s.rest) == 0 {
		all, err := s.t.collect(s.t.hub.Context(), tagSection, nil)
		if err != nil {
			return 0, err
		}
		s.rest = all[s.rank]
		if n := min(s.left, checkpoint.Piece); int64(len(s.rest)) != n {
			return 0, fmt.Errorf("rank %d sent %d bytes of a section, not %d", s.rank, len(s.rest), n)
		}
		s.left -= int64(len(s.rest))
	}
	n := copy(p, s.rest)
	s.rest = s.rest[n:]
	return n, nil
}

// give is the other ranks' side of fromRank: one gives its section, by way of piece, and the others nothing.
func (t *Trainer) give(own checkpoint.Section, size int64, piece []byte) error {
	for done := int64(0); done < size; {
		n := min(size-done, int64(len(piece)))
		var part []byte
		if own != nil {
			part = piece[:n]
			if _, err := io.ReadFull(own, part); err != nil {
				return err
			}
		}
		if _, err := t.collect(t.hub.Context(), tagSection, part); err != nil {
			return err
		}
		done += n
	}
	return nil
}

// fromFirst is a section of rank 0, as every rank reads it.
type fromFirst struct {
	t    *Trainer
	own  checkpoint.Section // at rank 0
	size int64
	left int64  // to be broadcast
	mem  []byte // at rank 0: a piece
	rest []byte // of the piece that came last
}

// share returns a section of rank 0's as every rank reads it; size is what the others know of it. In one process it is the section.
func (t *Trainer) share(own checkpoint.Section, size int64) checkpoint.Section {
	if !t.joined {
		return own
	}
	return &fromFirst{t: t, own: own, size: size, left: size}
}

// Size implements checkpoint.Section.
func (s *fromFirst) Size() int64 { return s.size }

// Read implements io.Reader.
func (s *fromFirst) Read(p []byte) (int, error) {
	if len(s.rest) == 0 && s.left == 0 {
		return 0, io.EOF
	}
	if len(s.rest) == 0 {
		if err := s.next(); err != nil {
			return 0, err
		}
	}
	n := copy(p, s.rest)
	s.rest = s.rest[n:]
	return n, nil
}

// next gets a piece.
func (s *fromFirst) next() error {
	n := min(s.left, checkpoint.Piece)
	if s.own != nil {
		if s.mem == nil {
			s.mem = make([]byte, n)
		}
		if _, err := io.ReadFull(s.own, s.mem[:n]); err != nil {
			return err
		}
	}
	var err error
	if s.rest, err = s.t.spread(s.t.hub.Context(), tagSection, s.mem[:min(n, int64(len(s.mem)))]); err != nil {
		return err
	}
	if int64(len(s.rest)) != n {
		return fmt.Errorf("rank 0 sent %d bytes of a section, not %d", len(s.rest), n)
	}
	s.left -= n
	return nil
}

// fromRank0 returns what rank 0 has; in one process own.
func fromRank0[T any](ctx context.Context, t *Trainer, tag uint32, own T) (T, error) {
	if !t.joined {
		return own, nil
	}
	var raw []byte
	var err error
	if t.o.leads() {
		if raw, err = json.Marshal(own); err != nil {
			return own, err
		}
	}
	if raw, err = t.spread(ctx, tag, raw); err != nil {
		return own, err
	}
	var got T
	if err := json.Unmarshal(raw, &got); err != nil {
		return own, fmt.Errorf("read what rank 0 says: %w", err)
	}
	return got, nil
}
