package pipeline

import (
	"bytes"
	"cmp"
	"errors"
	"io"
	"maps"
	"slices"
	"strings"

	"capgnn/internal/checkpoint"
	"capgnn/internal/trainer"
	"capgnn/pipeline/halo"
)

// Each rank has the halo rows of its parts, and its global cache. Sections of all of them are written by rank 0 and
// read there, in the order of their names: so each piece passes by calls that all ranks make.

// holdings returns the sections of halo rows that ranks other than 0 have, by name, at every rank. c has those of this
// one.
func (t engine) holdings(c *checkpoint.File) (all []trainer.Held, err error) {
	if !t.Joined || !t.Ages() {
		return nil, nil
	}
	own := make([][]trainer.Held, len(t.workers)) // at the first part
	for name, s := range c.Sections {
		own[0] = append(own[0], trainer.Held{Name: name, Bytes: checkpoint.Size(s), Rank: t.o.Ranks.Rank()})
	}
	byPart, err := trainer.Gather(&t.core, trainer.TagHalo, own)
	all = slices.DeleteFunc(slices.Concat(byPart...), func(h trainer.Held) bool { return h.Rank == 0 })
	slices.SortFunc(all, func(a, b trainer.Held) int { return cmp.Compare(a.Name, b.Name) })
	return all, err
}

// heldRows is what rank 0 says of the halo rows of a checkpoint.
type heldRows struct {
	Sections []trainer.Held
	States   map[string][]byte // content of those that say what ranks hold
}

// sized is a section of rank 0 as other ranks know it.
type sized int64

func (s sized) Size() int64              { return int64(s) }
func (s sized) Read([]byte) (int, error) { return 0, io.ErrUnexpectedEOF }

// resumeTogether lets all ranks see the halo rows of a checkpoint that rank 0 has.
func (t engine) resumeTogether(c *checkpoint.File, by *halo.Resuming) error {
	var held heldRows
	if t.Options.Leads() {
		held.States = map[string][]byte{}
		for _, name := range slices.Sorted(maps.Keys(c.Sections)) {
			s := c.Sections[name]
			if !strings.HasPrefix(name, halo.StateSection) {
				held.Sections = append(held.Sections, trainer.Held{Name: name, Bytes: checkpoint.Size(s)})
				continue
			}
			raw, err := io.ReadAll(s)
			if err != nil {
				return err
			}
			held.States[name] = raw
		}
	}
	held, err := trainer.FromRank0(&t.core, trainer.TagHalo, held)
	if err != nil {
		return err
	}
	file := c.Sections
	c.Sections = map[string]checkpoint.Section{}
	for _, h := range held.Sections {
		c.Sections[h.Name] = sized(h.Bytes)
	}
	for name, raw := range held.States {
		c.Sections[name] = bytes.NewReader(raw)
	}
	by.Agree = t.agreeHalo
	by.Read = func(sinks map[string]func(checkpoint.Section) error) error {
		for _, h := range held.Sections {
			s := t.Shared(file[h.Name], h.Bytes)
			take := sinks[h.Name]
			if take == nil {
				take = func(s checkpoint.Section) error {
					_, err := io.Copy(io.Discard, s)
					return err
				}
			}
			if err := take(s); err != nil {
				return err
			}
		}
		return nil
	}
	return nil
}

// agreeHalo returns the first error of all ranks.
func (t engine) agreeHalo(own error) error {
	texts := make([]string, len(t.workers))
	if own != nil {
		texts[0] = own.Error()
	}
	all, err := trainer.Gather(&t.core, trainer.TagHalo, texts)
	if err != nil {
		return err
	}
	if k := slices.IndexFunc(all, func(s string) bool { return s != "" }); k >= 0 {
		return errors.New(all[k])
	}
	return nil
}
