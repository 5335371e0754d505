package pipeline

import (
	"fmt"

	"capgnn/hostmem"
)

// A checkpoint of a run with a dynamic policy has besides:
//
//	halo/K/0/slots      rows of the global cache of exchange K, by slot
//
// What lies in which slot follows from a replay of the epochs that are done.

// save adds the newest rows of the global cache of an exchange to a checkpoint.
func (d *following) save(into map[string][]byte, name string, row int) {
	if d.slots == nil {
		return
	}
	var out []byte
	for s, h := range d.global {
		if h.made >= 0 {
			out = append(out, d.slots.Rows()[(2*s+int(d.last[s]))*row:][:row]...)
		}
	}
	if len(out) > 0 {
		into[name] = out
	}
}

// load puts them back, into caches that have been replayed.
func (d *following) load(rows []byte, row int) error {
	used := 0
	for _, h := range d.global {
		if h.made >= 0 {
			used++
		}
	}
	if len(rows) != used*row {
		return fmt.Errorf("%w: %d bytes in %d slots", errOtherHalo, len(rows), used)
	}
	for s, h := range d.global {
		if h.made < 0 {
			continue
		}
		if err := d.slots.Put(2*int32(s)+d.last[s], h.made, rows[:row]); err != nil {
			return err
		}
		rows = rows[row:]
	}
	return nil
}

// resume puts the caches of all exchanges into the state behind the epochs that a checkpoint has seen.
func (f *follower) resume(c *Checkpoint) error {
	if err := f.reach(c.Epoch); err != nil {
		return err
	}
	for _, l := range f.legs {
		if err := l.dynamic.load(c.Sections[l.section(0, "slots")], int(l.wireRow())); err != nil {
			return err
		}
	}
	return nil
}

// restart empties the caches: they begin with the schedules' Start.
func (f *follower) restart() { f.replay = nil }

// haloKey identifies what a checkpoint's halo rows are: which lie where, and how they travel.
func (t *Trainer) haloKey() string {
	things := []any{t.o.Cache.policy(), t.o.Cache.HaloType}
	if t.caches != nil {
		things = append(things, t.caches.Capacities)
	}
	for _, l := range t.legs {
		things = append(things, l.leg, l.classes)
		for i := range l.readers {
			r := &l.readers[i]
			things = append(things, hostmem.Bytes(r.ids), hostmem.Bytes(r.local), hostmem.Bytes(r.transient))
		}
		for _, owners := range l.global {
			for _, ids := range owners {
				things = append(things, hostmem.Bytes(ids))
			}
		}
	}
	return keyOf("halo rows 1", things...)
}
