package model

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"

	"capgnn/internal/regular"
)

// version is the number of the format (docs/formats/model.md).
const version = 1

// maxFile is how many bytes a file may have: 10⁶ nodes of 256.
const maxFile = 256 << 20

// Read reads a program from a file. Errors begin with the file's name.
func Read(path string) (*Program, error) {
	data, err := regular.ReadFile(path, maxFile)
	if err != nil {
		return nil, err
	}
	p, err := Parse(data)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return p, nil
}

// Parse reads a program from its text.
func Parse(data []byte) (*Program, error) {
	if len(data) > maxFile {
		return nil, fmt.Errorf("has more than %d bytes", maxFile)
	}
	r := reader{d: json.NewDecoder(bytes.NewReader(data)), data: data}
	p, err := r.program()
	if err == nil {
		return p, nil
	}
	early := errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, io.EOF)
	if early {
		err = errors.New("the file ends too early")
	}
	if s := (*json.SyntaxError)(nil); early || errors.As(err, &s) {
		at := min(max(r.d.InputOffset(), 0), int64(len(data)))
		return nil, fmt.Errorf("line %d is no JSON: %w", bytes.Count(data[:at], []byte("\n"))+1, err)
	}
	return nil, err
}

// reader reads a file piece by piece, so that nothing is kept of what a program has not.
type reader struct {
	d    *json.Decoder
	data []byte
	p    *Program
}

// program reads the whole file. The keys come in the order of the format, so that what a node names is there before
// it.
func (r *reader) program() (*Program, error) {
	keys := []string{"capgnn_model", "features", "outputs", "graphs", "tensors", "start", "nodes", "logits", "line"}
	next, number, features, outputs := 0, 0, 0, 0
	err := r.object("the file", func(key string) error {
		if next < len(keys) && keys[next] == "start" && key != "start" {
			next++
		}
		if next == len(keys) || key != keys[next] {
			return fmt.Errorf("key %.200q is not expected: the keys are %s, in this order; start and line may be left out", key,
				strings.Join(keys, ", "))
		}
		next++
		var logits string
		switch key {
		case "capgnn_model":
			err := r.value(key, &number)
			if err == nil && number != version {
				err = fmt.Errorf("format %d is not %d, the one that this version reads", number, version)
			}
			return err
		case "features":
			return r.value(key, &features)
		case "outputs":
			err := r.value(key, &outputs)
			if err == nil {
				r.p, err = New(features, outputs)
			}
			return err
		case "graphs":
			return r.object("graphs", r.graph)
		case "tensors":
			return r.object("tensors", func(name string) error {
				var shape []int
				if err := r.value(fmt.Sprintf("tensor %q", name), &shape); err != nil {
					return err
				}
				return r.p.AddTensor(name, shape...)
			})
		case "start":
			return r.object("start", func(name string) error {
				var x []float64
				if err := r.value(fmt.Sprintf("start of tensor %.200q", name), &x); err != nil {
					return err
				}
				return r.p.StartTensor(name, x)
			})
		case "nodes":
			return r.array("nodes", func(int) error { return r.node() })
		case "logits":
			if err := r.value(key, &logits); err != nil {
				return err
			}
			return r.p.Finish(logits)
		case "line":
			return r.object("line", r.line)
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	if next < len(keys)-1 {
		return nil, fmt.Errorf("key %q is missing", keys[next])
	}
	if _, err := r.d.Token(); !errors.Is(err, io.EOF) {
		return nil, errors.New("something comes behind the program")
	}
	return r.p, nil
}

func (r *reader) graph(name string) error {
	g := Graph{Name: name, Weight: 1}
	where := fmt.Sprintf("graph %q", name)
	err := r.object(where, func(key string) error {
		switch key {
		case "of":
			return r.value(where, &g.Of)
		case "do":
			return r.value(where, &g.Do)
		case "weight":
			return r.value(where, &g.Weight)
		}
		return fmt.Errorf("%s: key %q is not one of of, do, weight", where, key)
	})
	if err != nil {
		return err
	}
	return r.p.AddGraph(g)
}

func (r *reader) line(name string) error {
	n := r.p.Node(name)
	if n == nil {
		return fmt.Errorf("line: node %q is not there", name)
	}
	if err := r.value("line", &n.Line); err != nil {
		return err
	}
	return checkName(n.Line)
}

// node reads ["name", "operation", [inputs], {attributes}].
func (r *reader) node() error {
	n := Node{}
	where := "node"
	parts := 0
	err := r.array("node", func(i int) error {
		parts++
		switch i {
		case 0:
			err := r.value("name of a node", &n.Name)
			where = fmt.Sprintf("node %.200q", n.Name)
			return err
		case 1:
			err := r.value(where, &n.Op)
			n.Attr = defaults(n.Op)
			return err
		case 2:
			return r.array(where, func(int) error {
				var name string
				if err := r.value(where, &name); err != nil {
					return err
				}
				k, ok := r.p.names[name]
				if !ok {
					return fmt.Errorf("%s: reads %.200q, which is no tensor and no earlier node", where, name)
				}
				n.In = append(n.In, k)
				return nil
			})
		case 3:
			return r.attributes(where, &n)
		}
		return fmt.Errorf("%s: has more than name, operation, inputs and attributes", where)
	})
	switch {
	case err != nil:
		return err
	case parts < 2:
		return fmt.Errorf("%s: has no name and operation", where)
	case parts < 4:
		err = missing(where, &n, nil)
	}
	if err == nil {
		_, err = r.p.Add(n)
	}
	return err
}

// attributes reads those of a node. An operation that is none is refused by Add.
func (r *reader) attributes(where string, n *Node) error {
	given := map[string]bool{}
	_, known := ruleOf(n.Op)
	err := r.object(where, func(key string) error {
		given[key] = true
		if !known {
			return r.value(where, &json.RawMessage{})
		}
		field := n.field(key)
		if field == nil {
			return fmt.Errorf("%s: %s has no %.200q", where, n.Op, key)
		}
		return r.value(fmt.Sprintf("%s: %s", where, key), field)
	})
	if err != nil {
		return err
	}
	if _, there := given["axis"]; there && n.Axis < 0 {
		return fmt.Errorf("%s: axis %d is below 0", where, n.Axis)
	}
	if _, there := given["counter"]; there && n.Counter < 0 {
		return fmt.Errorf("%s: counter %d is below 0", where, n.Counter)
	}
	return missing(where, n, given)
}

// missing reports an attribute that an operation needs and a node has not.
func missing(where string, n *Node, given map[string]bool) error {
	r, _ := ruleOf(n.Op)
	for _, a := range attributes {
		if hasWord(r.needs, a.key) && !given[a.key] {
			return fmt.Errorf("%s: %s needs %q", where, n.Op, a.key)
		}
	}
	return nil
}
