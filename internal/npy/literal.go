package npy

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
)

// literal reads the one Python dict literal that a header is: {'descr': '<f4', 'fortran_order': False, 'shape': (3, 4), }.
type literal struct {
	s   string
	pos int
}

// parseHeader returns the header in s. On a fault it also returns the byte of s at which it was seen.
func parseHeader(s string) (Header, int, error) {
	p := &literal{s: s}
	var h Header
	seen := map[string]bool{}
	err := p.dict(func(key string) error {
		if seen[key] {
			return fmt.Errorf("header names %q twice", key)
		}
		seen[key] = true
		return p.field(key, &h)
	})
	if err == nil && len(seen) != 3 {
		err = errors.New("header lacks one of 'descr', 'fortran_order', 'shape'")
	}
	if err == nil {
		err = checkShape(h.Shape, h.DType.Size)
	}
	return h, p.pos, err
}

func (p *literal) field(key string, h *Header) (err error) {
	switch key {
	case "descr":
		if p.peek() == '[' {
			return errors.New("structured arrays cannot be read")
		}
		var text string
		if text, err = p.text(); err == nil {
			h.DType, err = parseDescr(text)
		}
	case "fortran_order":
		h.Fortran, err = p.boolean()
	case "shape":
		h.Shape, err = p.tuple()
	default:
		err = fmt.Errorf("header has the unknown key %q", key)
	}
	return err
}

// peek skips blanks and returns the next byte, 0 at the end.
func (p *literal) peek() byte {
	for p.pos < len(p.s) && strings.IndexByte(" \t\r\n", p.s[p.pos]) >= 0 {
		p.pos++
	}
	if p.pos == len(p.s) {
		return 0
	}
	return p.s[p.pos]
}

func (p *literal) want(c byte) error {
	if p.peek() != c {
		return fmt.Errorf("header is not a Python dict: %q expected", c)
	}
	p.pos++
	return nil
}

// dict reads the braces and calls field for each key, with the colon behind it consumed.
func (p *literal) dict(field func(key string) error) error {
	if err := p.want('{'); err != nil {
		return err
	}
	for p.peek() != '}' {
		key, err := p.text()
		if err != nil {
			return err
		}
		if err = p.want(':'); err != nil {
			return err
		}
		if err = field(key); err != nil {
			return err
		}
		if p.peek() == ',' {
			p.pos++
		} else if p.peek() != '}' {
			return p.want(',')
		}
	}
	p.pos++
	if p.peek() != 0 {
		return errors.New("header goes on after its dict")
	}
	return nil
}

func (p *literal) text() (string, error) {
	quote := p.peek()
	if quote != '\'' && quote != '"' {
		return "", errors.New("header is not a Python dict: a string expected")
	}
	body := p.s[p.pos+1:]
	end := strings.IndexByte(body, quote)
	if end < 0 || strings.IndexByte(body[:end], '\\') >= 0 {
		return "", errors.New("header has a string that does not end or holds escapes")
	}
	p.pos += end + 2
	return body[:end], nil
}

func (p *literal) boolean() (bool, error) {
	p.peek()
	for word, value := range map[string]bool{"True": true, "False": false} {
		if strings.HasPrefix(p.s[p.pos:], word) {
			p.pos += len(word)
			return value, nil
		}
	}
	return false, errors.New("header is not a Python dict: True or False expected")
}

// tuple reads (), (3,), (3, 4); Python 2 wrote 3L for long integers.
func (p *literal) tuple() ([]int, error) {
	if err := p.want('('); err != nil {
		return nil, err
	}
	out := []int{}
	for p.peek() != ')' {
		start := p.pos
		for p.pos < len(p.s) && p.s[p.pos] >= '0' && p.s[p.pos] <= '9' {
			p.pos++
		}
		n, err := strconv.Atoi(p.s[start:p.pos])
		if err != nil {
			return nil, errors.New("shape is not a tuple of whole numbers")
		}
		out = append(out, n)
		if p.pos < len(p.s) && p.s[p.pos] == 'L' {
			p.pos++
		}
		if p.peek() == ',' {
			p.pos++
		} else if p.peek() != ')' {
			return nil, p.want(',')
		}
	}
	p.pos++
	return out, nil
}
