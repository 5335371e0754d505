package minibatch

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"capgnn/cluster"
	"capgnn/gpu/host"
	"capgnn/graph"
	"capgnn/internal/meet"
	"capgnn/internal/named"
	"capgnn/internal/trainer"
	"capgnn/minibatch/rowcache"
	"capgnn/pipeline/link"
)

// testBooks are those of a rank that has parts 1 and 2 of four, of rows of 1 to 5 bytes; there is a second table of rows of 4.
func testBooks() *books {
	return &books{home: homes(40, 4), own: graph.Range{Lo: 1, Hi: 3}, most: 20, size: func(table, v int) (int, bool) {
		switch table {
		case featureTable:
			return 1 + v%5, true
		case tableOf(1):
			return 4, true
		}
		return 0, false
	}}
}

// rowsOfPart returns vertices of a part.
func rowsOfPart(k *books, part int32, n int) (ids []graph.NodeID) {
	for v, home := range k.home {
		if home == part && len(ids) < n {
			ids = append(ids, graph.NodeID(v))
		}
	}
	return ids
}

// A request is read as it was written; what asks for a row that is not there, that another part has, or for too much, is refused with a line.
func TestRequests(t *testing.T) {
	k := testBooks()
	own := rowsOfPart(k, 1, 4)
	write := func(table, owner int, ids ...graph.NodeID) []byte {
		return slices.Clone(putRequest(make([]byte, requestHeader+4*mostAsked), table, owner, ids))
	}
	longer := func(b []byte, n uint32) []byte { binary.LittleEndian.PutUint32(b[8:], n); return b }
	for name, c := range map[string]struct {
		b    []byte
		want string
	}{
		"":           {write(featureTable, 1, own...), ""},
		"none":       {write(featureTable, 2), ""},
		"layer":      {write(tableOf(1), 1, own...), ""},
		"no header":  {make([]byte, requestHeader-1), "a request of 11 bytes announces 0"},
		"longer":     {longer(write(featureTable, 1, own...), 5), "a request of 28 bytes announces 32"},
		"shorter":    {longer(write(featureTable, 1, own...), 3), "a request of 28 bytes announces 24"},
		"huge":       {longer(write(featureTable, 1, own...), 1<<32-1), "a request of 28 bytes announces"},
		"part":       {write(featureTable, 3, rowsOfPart(k, 3, 1)...), "it asks part 3 for rows, which is not of this rank"},
		"home":       {write(featureTable, 1, rowsOfPart(k, 2, 1)...), "which part 2 has"},
		"vertex":     {write(featureTable, 1, 40), "it asks part 1 for the row of vertex 40, the graph has 40"},
		"negative":   {write(featureTable, 1, -1), "it asks part 1 for the row of vertex 4294967295, the graph has 40"},
		"table":      {write(tableOf(0), 1, own...), "it asks part 1 for rows of table 1, which is not there"},
		"too much":   {write(tableOf(1), 1, append(own, own...)...), "more than the 20 bytes that an answer may have"},
		"over again": {write(featureTable, 1, slices.Repeat(own[:1], 30)...), "more than the 20 bytes"},
	} {
		_, ids, err := k.read(c.b, nil)
		if c.want == "" && (err != nil || !bytes.Equal(putRequest(make([]byte, len(c.b)), int(binary.LittleEndian.Uint32(c.b)), int(binary.LittleEndian.Uint32(c.b[4:])), ids), c.b)) {
			t.Errorf("%s: %v, %v", name, ids, err)
		}
		if c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want) || strings.Contains(err.Error(), "\n")) {
			t.Errorf("%s: %v, want %s", name, err, c.want)
		}
	}
}

// Whatever another rank sends, a request asks for rows of the part that it names, of this rank, and for no more than an answer has room for; or it is refused.
func FuzzRequest(f *testing.F) {
	k := testBooks()
	b := make([]byte, requestHeader+4*mostAsked)
	f.Add(slices.Clone(putRequest(b, featureTable, 1, rowsOfPart(k, 1, 4))))
	f.Add(slices.Clone(putRequest(b, tableOf(1), 2, rowsOfPart(k, 2, 5))))
	f.Add(slices.Clone(putRequest(b, tableOf(7), 0, rowsOfPart(k, 0, 9))))
	f.Add([]byte{})
	f.Fuzz(func(t *testing.T, b []byte) {
		table, ids, err := k.read(b, nil)
		if err != nil {
			return
		}
		sum := 0
		for _, v := range ids {
			size, there := k.size(table, int(v))
			if sum += size; !there || k.home[v] != int32(binary.LittleEndian.Uint32(b[4:])) || !k.own.Has(int(k.home[v])) {
				t.Errorf("%x asks for vertex %d of table %d", b, v, table)
			}
		}
		if sum > k.most || 4*len(ids)+requestHeader != len(b) {
			t.Errorf("%x asks for %d rows of %d bytes", b, len(ids), sum)
		}
	})
}

// silent is a net on which nothing comes.
type silent struct{ anyRanks }

type anyRanks = Ranks

func (silent) Send(int, uint32, uint32, int, []byte, func(error)) {}
func (silent) Expect(int, uint32, []byte, func(uint32, int))      {}
func (silent) Taken(int, uint32, uint32)                          {}

// silentAsker returns what asks a silent net for rows of 16 bytes at most.
func silentAsker(t *testing.T) *asker {
	hub := meet.NewHub(t.Context(), time.Minute)
	return &asker{net: link.Over(silent{}, hub), hub: hub, hear: cluster.Area{Bytes: answerHeader + 16}}
}

// Whatever another rank answers, it is the rows that were asked for, or ends the run: nothing is written elsewhere.
func FuzzAnswer(f *testing.F) {
	f.Add(uint32(0), []byte{2, 0, 0, 0, 1, 2, 3, 4, 5, 6})
	f.Add(uint32(1), []byte{2, 0, 0, 0, 1, 2, 3, 4, 5, 6})
	f.Add(uint32(0), []byte{3, 0, 0, 0, 1, 2, 3, 4, 5, 6})
	f.Add(uint32(0), []byte{2, 0, 0, 0, 1, 2, 3, 4, 5, 6, 7})
	f.Add(uint32(0), []byte{2, 0})
	f.Fuzz(func(t *testing.T, message uint32, b []byte) {
		a := silentAsker(t)
		a.open()
		into := make([]byte, 8)
		done := a.want(featureTable, 0, []graph.NodeID{4, 5}, func(graph.NodeID) int { return 3 }, func(_, offset int, rows []byte) { copy(into[offset:], rows) })
		hi := copy(a.area, b)
		a.arrived(message, hi)
		right := message == 0 && hi == answerHeader+6 && binary.LittleEndian.Uint32(b) == 2
		select {
		case <-done:
			if !right || !bytes.Equal(into[:6], b[answerHeader:hi]) || into[6] != 0 {
				t.Errorf("message %d, %x: taken as %x", message, b, into)
			}
			a.arrived(message, hi) // nobody has asked
			right = false
		default:
		}
		if ended := a.hub.Context().Err() != nil; right || ended != (message != 0 || hi >= answerHeader+6) {
			t.Errorf("message %d, %x: right %t, the run is over %t", message, b, right, ended)
		}
	})
}

// A rank that asks for what it may not ends the run of the rank that it asks, with one line; so does one that is lost, at once; and one that does not answer, when that has been waited for
// too long. Nothing is left behind.
func TestFaultsOfRanks(t *testing.T) {
	p, m := task{}.make(t, named.SAGE)
	for name, c := range map[string]struct {
		wrong func(rank int, tr *Trainer)
		lose  uint32 // an area of which nothing comes; 0: none
		want  string // what rank 0 says
	}{
		"home": {func(rank int, tr *Trainer) {
			if rank == 1 {
				ids := []graph.NodeID{graph.NodeID(slices.Index(tr.o.Part, 2))}
				tr.rows.askers[0][0].want(featureTable, 0, ids, tr.workers[0].stage.rowSize, func(int, int, []byte) {})
			}
		}, 0, "refuse a request of part 2 of rank 1: it asks part 0 for the row of vertex"},
		"vertex": {func(rank int, tr *Trainer) {
			if rank == 1 {
				tr.rows.askers[0][0].want(featureTable, 1, []graph.NodeID{300}, func(graph.NodeID) int { return 80 }, func(int, int, []byte) {})
			}
		}, 0, "refuse a request of part 2 of rank 1: it asks part 1 for the row of vertex 300, the graph has 300"},
		"lost": {func(rank int, tr *Trainer) {
			if rank == 1 {
				time.AfterFunc(20*time.Millisecond, func() { tr.Hub.Fail(errors.New("killed")) })
			}
		}, 0, errRankLost.Error()},
		"silent": {nil, trainer.FirstRowArea + 3 + 1, "part 1 waited 2s for part 2: rows: device lost"},
	} {
		o := small(m, devices(t, 3, host.Spec{}), homes(p.Vertices(), 3))
		o.Epochs, o.Sampling.Fetch, o.WaitDeadline = 200, rowcache.Rules{}, time.Minute
		x := rankRun{p: p, on: c.wrong, o: func(rank int) Options {
			o := o
			if rank == 0 && c.lose > 0 { // of both ranks only this one runs out of patience
				o.WaitDeadline = 2 * time.Second
			}
			return o
		}, lose: c.lose}
		_, errs := x.run(t, groupings[0])
		if errs[0] == nil || errs[1] == nil || !strings.Contains(errs[0].Error(), c.want) || strings.Contains(errs[0].Error(), "\n") {
			t.Errorf("%s: ranks end with %v, rank 0 is to say %s", name, errs, c.want)
		}
		none(t, name)
	}
}

// lossy is a rank to whose area nothing comes.
type lossy struct {
	*memoryRank
	area uint32
}

func (l lossy) Send(to int, area, message uint32, off int, b []byte, sent func(error)) {
	if area != l.area {
		l.memoryRank.Send(to, area, message, off, b, sent)
	}
}

// A rank whose numbers are of another step than its neighbours' is told so.
func TestRanksOfOtherSteps(t *testing.T) {
	p, m := task{}.make(t, named.SAGE)
	o := small(m, devices(t, 3, host.Spec{}), homes(p.Vertices(), 3))
	x := rankRun{p: p, o: func(int) Options { return o }, on: func(rank int, tr *Trainer) {
		if rank == 1 {
			tr.Reduce.Resume(3)
		}
	}, ctx: func(int) context.Context { return t.Context() }}
	_, errs := x.run(t, groupings[0])
	if err := errors.Join(errs...); err == nil || !strings.Contains(err.Error(), "they are of step 0, here it is step 3: start all ranks from one checkpoint") {
		t.Errorf("ranks end with %v", errs)
	}
}

// What comes for a part that has given up its memory is written nowhere, and asks for nothing.
func TestAnswersThatComeTooLate(t *testing.T) {
	a := silentAsker(t)
	a.open()
	into := make([]byte, 6)
	a.want(featureTable, 0, []graph.NodeID{4, 5}, func(graph.NodeID) int { return 3 }, func(_, offset int, rows []byte) { copy(into[offset:], rows) })
	a.close()
	a.arrived(0, copy(a.area, []byte{2, 0, 0, 0, 1, 2, 3, 4, 5, 6}))
	if !bytes.Equal(into, make([]byte, 6)) || a.hub.Context().Err() != nil {
		t.Errorf("%x was written, the run ended with %v", into, a.hub.Context().Err())
	}
}

// A loss that is no number ends all ranks with the same error, whichever part has it.
func TestRanksDiverge(t *testing.T) {
	p, m := task{}.make(t, named.GCN)
	p.Features.Dense[7*m.In] = float32(math.Inf(1))
	o := small(m, devices(t, 3, host.Spec{}), homes(p.Vertices(), 3))
	_, want := func() (*Result, error) {
		tr, err := New(t.Context(), p, o)
		if err != nil {
			t.Fatal(err)
		}
		defer tr.Close()
		return tr.Run(t.Context())
	}()
	_, errs := rankRun{p: p, o: func(int) Options { return o }}.run(t, groupings[1])
	bad := new(Diverged)
	if !errors.As(want, &bad) || errs[0] == nil || errs[1] == nil || errs[0].Error() != want.Error() || errs[1].Error() != want.Error() {
		t.Errorf("ranks end with %v, one process with %v", errs, want)
	}
}
