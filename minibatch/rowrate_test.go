//go:build unix

package minibatch

import (
	"bytes"
	"context"
	"fmt"
	"math/rand/v2"
	"net"
	"slices"
	"sync"
	"testing"
	"time"

	"capgnn/cluster"
	"capgnn/cluster/tcp"
	"capgnn/graph"
	"capgnn/hostmem"
	"capgnn/internal/meet"
	"capgnn/pipeline/link"
)

// tcpRanks joins two ranks by the loopback interface.
func tcpRanks(b *testing.B, o tcp.Options) (all [2]*tcp.Group) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		b.Skip(err)
	}
	o.Master, o.Ranks = l.Addr().String(), 2
	l.Close()
	var joined sync.WaitGroup
	for rank := range all {
		own := o
		own.Rank = rank
		joined.Go(func() {
			g, err := tcp.Join(b.Context(), own)
			if err != nil {
				b.Error(err)
				return
			}
			all[rank] = g
		})
	}
	joined.Wait()
	if b.Failed() {
		b.FailNow()
	}
	b.Cleanup(func() {
		var left sync.WaitGroup
		for _, r := range all {
			left.Go(func() { r.Close() })
		}
		left.Wait()
	})
	return all
}

// rowsOverTCP returns what asks rank 0 for the rows of some vertices, of so many columns, and waits until they lie at rank 1; all is over with the benchmark.
func rowsOverTCP(b *testing.B, o tcp.Options, vertices, cols int) func(ids []graph.NodeID) {
	ask := cluster.Area{From: 1, To: 0, Number: 3, Bytes: requestHeader + 4*mostAsked}
	hear := cluster.Area{From: 0, To: 1, Number: 4, Bytes: answerHeader + mostAnswered}
	row, table := 4*cols, words(4*vertices*cols)
	ranks, hub := tcpRanks(b, o), meet.NewHub(b.Context(), time.Minute)
	var announced, running sync.WaitGroup
	for _, r := range ranks {
		announced.Go(func() {
			if err := r.Announce(b.Context(), []cluster.Area{ask, hear}); err != nil {
				b.Error(err)
			}
		})
	}
	announced.Wait()
	answers := &answerer{net: link.Over(ranks[0], hub), hub: hub, part: 1, hear: ask, say: hear,
		books: books{home: make([]int32, vertices), own: graph.Range{Lo: 0, Hi: 1}, size: func(int, int) (int, bool) { return row, true }, most: mostAnswered},
		pack:  func(_ int, dst []byte, v graph.NodeID) int { return copy(dst, table[int(v)*row:][:row]) }}
	answers.open()
	running.Go(answers.run)
	asks := &asker{net: link.Over(ranks[1], hub), hub: hub, part: 1, ask: ask, hear: hear}
	asks.open()
	b.Cleanup(func() {
		asks.close()
		hub.Fail(context.Canceled)
		running.Wait()
	})
	area := words(vertices * row)
	return func(ids []graph.NodeID) {
		<-asks.want(featureTable, 0, ids, func(graph.NodeID) int { return row }, func(_, offset int, rows []byte) { copy(area[offset:], rows) })
	}
}

// BenchmarkRows asks another rank for rows over TCP, as steps do, and reports how many bytes of them a second of processor time carries, of both ends together: requests are checked, rows packed,
// sent with a checksum or encrypted, received and copied to where the step reads them.
//
//	go test -run '^$' -bench 'Rows$' -benchtime 40x ./minibatch
func BenchmarkRows(b *testing.B) {
	const vertices, batch, requests = 20000, 4000, 8
	secret := bytes.Repeat([]byte("rows"), 16)
	for _, cols := range []int{100, 602} {
		for _, plain := range []bool{false, true} {
			b.Run(fmt.Sprintf("plain=%v/%d", plain, cols), func(b *testing.B) {
				bring, ids, r := rowsOverTCP(b, tcp.Options{Secret: secret, Plain: plain}, vertices, cols), make([]graph.NodeID, batch), rand.New(rand.NewPCG(1, 2))
				for i := range ids {
					ids[i] = graph.NodeID(r.IntN(vertices))
				}
				const gigabyte = 1e9
				var perCPU []float64
				for b.Loop() {
					used := hostmem.ProcessorTime()
					for range requests {
						bring(ids)
					}
					perCPU = append(perCPU, float64(requests*batch*4*cols)/gigabyte/(hostmem.ProcessorTime()-used).Seconds())
				}
				slices.Sort(perCPU)
				b.ReportMetric(perCPU[len(perCPU)/2], "GB/CPU-s")
			})
		}
	}
}
