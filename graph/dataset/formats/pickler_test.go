package formats

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"os"
	"path/filepath"
	"testing"
)

// pickler writes pickles as Python 2 wrote those of Planetoid.
type pickler struct{ bytes.Buffer }

func newPickler() *pickler {
	p := &pickler{}
	p.WriteString("\x80\x02")
	return p
}

func (p *pickler) end() []byte { return append(p.Bytes(), '.') }

func (p *pickler) int(v int) {
	p.WriteByte('J')
	p.Write(binary.LittleEndian.AppendUint32(nil, uint32(v)))
}

func (p *pickler) text(s string) {
	p.WriteString("U" + string([]byte{byte(len(s))}) + s)
}

func (p *pickler) array(dtype string, raw []byte, shape ...int) {
	p.WriteString("cnumpy.core.multiarray\n_reconstruct\ncnumpy\nndarray\nK\x00\x85U\x01b\x87R(K\x01(")
	for _, d := range shape {
		p.int(d)
	}
	p.WriteString("tcnumpy\ndtype\n")
	p.text(dtype)
	p.WriteString("K\x00K\x01\x87R(K\x03U\x01<NNNJ\xff\xff\xff\xffJ\xff\xff\xff\xffK\x00tb\x89T")
	p.Write(binary.LittleEndian.AppendUint32(nil, uint32(len(raw))))
	p.Write(raw)
	p.WriteString("tb")
}

func (p *pickler) matrix(rows, cols int, indptr, indices []int32, data []float32) {
	raw := func(v any) []byte {
		b, err := binary.Append(nil, binary.LittleEndian, v)
		if err != nil {
			panic(err)
		}
		return b
	}
	p.WriteString("cscipy.sparse.csr\ncsr_matrix\n)\x81}(")
	p.text("format")
	p.text("csr")
	p.text("_shape")
	p.int(rows)
	p.int(cols)
	p.WriteString("\x86")
	p.text("maxprint")
	p.WriteString("K\x32")
	p.text("indptr")
	p.array("i4", raw(indptr), len(indptr))
	p.text("indices")
	p.array("i4", raw(indices), len(indices))
	p.text("data")
	p.array("f4", raw(data), len(data))
	p.WriteString("ub")
}

func (p *pickler) oneHot(classes int, labels ...int) {
	var raw []byte
	for _, y := range labels {
		for c := range classes {
			v := uint32(0)
			if c == y {
				v = 1
			}
			raw = binary.LittleEndian.AppendUint32(raw, v)
		}
	}
	p.array("i4", raw, len(labels), classes)
}

func (p *pickler) lists(rows ...[]int) {
	p.WriteString("ccollections\ndefaultdict\nc__builtin__\nlist\n\x85R(")
	for v, row := range rows {
		p.int(v)
		p.WriteString("](")
		for _, u := range row {
			p.int(u)
		}
		p.WriteString("e")
	}
	p.WriteString("u")
}

// toy is a Planetoid data set of seven vertices: 1 trains, 2 to 5 come from tx, vertex 4 has no row, and allx has 3 rows.
func toy() map[string][]byte {
	files := map[string][]byte{"test.index": []byte("6\n3\r\n5\n")}
	p := newPickler()
	p.matrix(1, 4, []int32{0, 1}, []int32{2}, []float32{1})
	files["x"] = p.end()
	p = newPickler()
	p.matrix(3, 4, []int32{0, 1, 1, 3}, []int32{2, 3, 0}, []float32{1, 2, 3})
	files["allx"] = p.end()
	p = newPickler()
	p.matrix(3, 4, []int32{0, 1, 2, 2}, []int32{1, 3}, []float32{6, 3})
	files["tx"] = p.end()
	for name, labels := range map[string][]int{"y": {1}, "ally": {1, 0, -1}, "ty": {0, 1, 1}} {
		p = newPickler()
		p.oneHot(2, labels...)
		files[name] = p.end()
	}
	p = newPickler()
	p.lists([]int{1, 1, 2}, []int{0}, []int{2, 6}, []int{}, []int{}, []int{}, []int{0})
	files["graph"] = p.end()
	return files
}

// put writes the files of a Planetoid data set called toy and returns their folder.
func put(t testing.TB, files map[string][]byte) string {
	t.Helper()
	dir := t.TempDir()
	for what, b := range files {
		if err := os.WriteFile(filepath.Join(dir, fmt.Sprintf("ind.toy.%s", what)), b, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}
