package minibatch

import (
	"encoding/binary"
	"fmt"

	"capgnn/graph"
	"capgnn/hostmem"
	"capgnn/pipeline/layered"
)

// What ranks say to each other about rows. A request is table, owner and number of ids, each uint32, little endian, and the ids. Its answer is the number of rows and the packed rows,
// in their order. Both are messages of one number.

const (
	requestHeader = 12
	answerHeader  = 4
	mostAsked     = 1 << 14 // ids of a request: 64 KiB
	// mostAnswered bounds the bytes of an answer, but for one row. What is asked for beyond comes in further messages: a gigabit link carries so many in 8 ms, beside which
	// the way of the next request is short.
	mostAnswered = 1 << 20
)

// featureTable is the number of the rows that steps read. Above it are those that evaluation keeps of layers.
const featureTable = 0

func tableOf(layer int) int { return 1 + layer }

// putRequest writes a request to b, which has room for it, and returns its bytes.
func putRequest(b []byte, table, owner int, ids []graph.NodeID) []byte {
	for i, n := range []int{table, owner, len(ids)} {
		binary.LittleEndian.PutUint32(b[4*i:], uint32(n))
	}
	for i, v := range ids {
		binary.LittleEndian.PutUint32(b[requestHeader+4*i:], uint32(v))
	}
	return b[:requestHeader+4*len(ids)]
}

// requestBytes returns the size of the request of which b is the beginning, and false while that is not known.
func requestBytes(b []byte) (n int, known bool) {
	if len(b) < requestHeader {
		return 0, false
	}
	return requestHeader + 4*int(binary.LittleEndian.Uint32(b[8:])), true
}

// books is what a rank knows by which requests of others are checked.
type books struct {
	home []int32                        // of every vertex
	own  graph.Range                    // parts of this rank
	size func(table, v int) (int, bool) // bytes of a row; false: there is no such table now
	most int                            // bytes of the rows of an answer
}

// read returns what a request asks for: ids are appended to into. Nothing of it is believed.
func (k *books) read(b []byte, into []graph.NodeID) (table int, ids []graph.NodeID, err error) {
	n, known := requestBytes(b)
	if !known || n != len(b) {
		return 0, nil, fmt.Errorf("a request of %d bytes announces %d", len(b), n)
	}
	table, owner := int(binary.LittleEndian.Uint32(b)), int(binary.LittleEndian.Uint32(b[4:]))
	if !k.own.Has(owner) {
		return 0, nil, fmt.Errorf("it asks part %d for rows, which is not of this rank", owner)
	}
	bytes := 0
	for at := requestHeader; at < n; at += 4 {
		v := binary.LittleEndian.Uint32(b[at:])
		if int64(v) >= int64(len(k.home)) {
			return 0, nil, fmt.Errorf("it asks part %d for the row of vertex %d, the graph has %d", owner, v, len(k.home))
		}
		if int(k.home[v]) != owner {
			return 0, nil, fmt.Errorf("it asks part %d for the row of vertex %d, which part %d has", owner, v, k.home[v])
		}
		size, there := k.size(table, int(v))
		if !there {
			return 0, nil, fmt.Errorf("it asks part %d for rows of table %d, which is not there", owner, table)
		}
		if bytes += size; bytes > k.most {
			return 0, nil, fmt.Errorf("it asks part %d for more than the %d bytes that an answer may have", owner, k.most)
		}
		into = append(into, graph.NodeID(v))
	}
	return table, into, nil
}

// layerTable is the rows that evaluation has of a layer.
type layerTable struct {
	layer int
	*layered.Table
}

// pack writes the row of a vertex to dst, and returns its size.
func (x *layerTable) pack(dst []byte, v graph.NodeID) int { return copy(dst, x.Of(v)) }

// words returns memory of so many bytes at least, at an address where numbers may lie.
func words(n int) []byte { return hostmem.Bytes(make([]float32, (n+3)/4)) }
