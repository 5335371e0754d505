package model

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
)

// JSON returns the text of a program: that which Read reads, one node a line. Equal programs have equal texts.
func (p *Program) JSON() []byte {
	var b bytes.Buffer
	p.write(&b)
	var lines []string
	for i := range p.Nodes {
		if n := &p.Nodes[i]; n.Line != "" {
			lines = append(lines, quoted(n.Name)+": "+quoted(n.Line))
		}
	}
	if lines != nil {
		b.WriteString(",\n \"line\": {")
		list(&b, lines)
		b.WriteByte('}')
	}
	b.WriteString("}\n")
	return b.Bytes()
}

// SHA256 returns the identity of a program in hex: of its text without lines of the user's code.
func (p *Program) SHA256() string {
	var b bytes.Buffer
	p.write(&b)
	h := sha256.Sum256(b.Bytes())
	return hex.EncodeToString(h[:])
}

// write appends all but the lines of the user's code and the end.
func (p *Program) write(b *bytes.Buffer) {
	fmt.Fprintf(b, `{"capgnn_model": %d, "features": %d, "outputs": %d,`, version, p.Features, p.Outputs)
	b.WriteString("\n \"graphs\": {")
	var items []string
	for _, g := range p.Graphs {
		s := quoted(g.Name) + ": {"
		if g.Of != "" {
			s += `"of": ` + quoted(g.Of) + `, "do": ` + quoted(g.Do)
		}
		if g.Weight != 1 {
			s += `, "weight": ` + quoted(g.Weight)
		}
		items = append(items, s+"}")
	}
	list(b, items)
	b.WriteString("},\n \"tensors\": {")
	items = nil
	for i := range p.Params() {
		items = append(items, quoted(p.Nodes[i].Name)+": "+quoted(p.Nodes[i].Shape))
	}
	list(b, items)
	b.WriteString("},\n")
	items = nil
	for _, n := range p.Params() {
		if n.Start != nil {
			items = append(items, quoted(n.Name)+": "+quoted(n.Start))
		}
	}
	if items != nil {
		b.WriteString(" \"start\": {")
		list(b, items)
		b.WriteString("},\n")
	}
	b.WriteString(" \"nodes\": [")
	items = nil
	dropouts := 0
	for i := p.Tensors; i < len(p.Nodes); i++ {
		items = append(items, p.line(&p.Nodes[i], dropouts))
		if p.Nodes[i].Op == Dropout {
			dropouts++
		}
	}
	list(b, items)
	fmt.Fprintf(b, "],\n \"logits\": %s", quoted(p.Nodes[p.Logits].Name))
}

// list appends items, each on a line of its own.
func list(b *bytes.Buffer, items []string) {
	for i, s := range items {
		if i > 0 {
			b.WriteByte(',')
		}
		b.WriteString("\n  " + s)
	}
}

// line returns the text of a node.
func (p *Program) line(n *Node, dropouts int) string {
	var b bytes.Buffer
	fmt.Fprintf(&b, "[%s, %s", quoted(n.Name), quoted(n.Op))
	sep := ", {"
	attrs := ""
	p.written(n, dropouts, func(key string, value any) {
		attrs += sep + quoted(key) + ": " + quoted(value)
		sep = ", "
	})
	if len(n.In) > 0 || attrs != "" {
		b.WriteString(", [")
		for i, k := range n.In {
			if i > 0 {
				b.WriteString(", ")
			}
			b.WriteString(quoted(p.Nodes[k].Name))
		}
		b.WriteByte(']')
	}
	if attrs != "" {
		b.WriteString(attrs + "}")
	}
	b.WriteByte(']')
	return b.String()
}

// quoted returns a value as JSON, with lists as [1, 2].
func quoted(v any) string {
	var b bytes.Buffer
	switch v := v.(type) {
	case []int:
		for i, x := range v {
			sep := ", "
			if i == 0 {
				sep = ""
			}
			fmt.Fprintf(&b, "%s%d", sep, x)
		}
		return "[" + b.String() + "]"
	case []float64:
		for i, x := range v {
			if i > 0 {
				b.WriteString(", ")
			}
			b.WriteString(quoted(x))
		}
		return "[" + b.String() + "]"
	}
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		panic(err) // a valid program has strings and finite numbers
	}
	return string(bytes.TrimSuffix(b.Bytes(), []byte("\n")))
}
