package together

import (
	"context"
	"fmt"
	"io"

	"capgnn/internal/checkpoint"
)

// A checkpoint of several ranks is written and read by rank 0, as one process does. What lies at others passes between them a piece at a time, by calls that all
// ranks make in one order: so each section is read to its end at every rank.

// fromRank is a section of another rank, as rank 0 reads it.
type fromRank struct {
	ctx  context.Context // of the run
	t    Talk
	tag  uint32
	rank int
	size int64
	left int64  // to be gathered
	rest []byte // of the piece gathered last
}

// Section returns a section of another rank, as rank 0 reads it. The others Give it. ctx is that of the run.
func (t Talk) Section(ctx context.Context, tag uint32, rank int, size int64) checkpoint.Section {
	return &fromRank{ctx: ctx, t: t, tag: tag, rank: rank, size: size, left: size}
}

// Size implements checkpoint.Section.
func (s *fromRank) Size() int64 { return s.size }

// Read implements io.Reader.
func (s *fromRank) Read(p []byte) (int, error) {
	if len(s.rest) == 0 && s.left == 0 {
		return 0, io.EOF
	}
	if len(s.rest) == 0 {
		all, err := s.t.Collect(s.ctx, s.tag, nil)
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

// Give is the other ranks' side of Section: one gives its own, by way of piece, and the others nothing.
func (t Talk) Give(ctx context.Context, tag uint32, own checkpoint.Section, size int64, piece []byte) error {
	for done := int64(0); done < size; {
		n := min(size-done, int64(len(piece)))
		var part []byte
		if own != nil {
			part = piece[:n]
			if _, err := io.ReadFull(own, part); err != nil {
				return err
			}
		}
		if _, err := t.Collect(ctx, tag, part); err != nil {
			return err
		}
		done += n
	}
	return nil
}

// fromFirst is a section of rank 0, as every rank reads it.
type fromFirst struct {
	ctx  context.Context // of the run
	t    Talk
	tag  uint32
	own  checkpoint.Section // at rank 0
	size int64
	left int64  // to be broadcast
	mem  []byte // at rank 0: a piece
	rest []byte // of the piece that came last
}

// Share returns a section of rank 0's as every rank reads it; size is what the others know of it. In one process it is the section. ctx is that of the run.
func (t Talk) Share(ctx context.Context, tag uint32, own checkpoint.Section, size int64) checkpoint.Section {
	if t.Ranks == nil {
		return own
	}
	return &fromFirst{ctx: ctx, t: t, tag: tag, own: own, size: size, left: size}
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
	if s.rest, err = s.t.Spread(s.ctx, s.tag, s.mem[:min(n, int64(len(s.mem)))]); err != nil {
		return err
	}
	if int64(len(s.rest)) != n {
		return fmt.Errorf("rank 0 sent %d bytes of a section, not %d", len(s.rest), n)
	}
	s.left -= n
	return nil
}
