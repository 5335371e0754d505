package model

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
)

// object reads an object, calling f for every key when its value is next.
func (r *reader) object(where string, f func(key string) error) error {
	if err := r.open(where, '{', "object"); err != nil {
		return err
	}
	seen := map[string]bool{}
	for r.d.More() {
		t, err := r.d.Token()
		if err != nil {
			return err
		}
		key := t.(string) // JSON has no other keys
		if seen[key] {
			return fmt.Errorf("%s: key %.200q is there twice", where, key)
		}
		seen[key] = true
		if err := f(key); err != nil {
			return err
		}
	}
	_, err := r.d.Token()
	return err
}

// array reads an array, calling f for every element when it is next.
func (r *reader) array(where string, f func(i int) error) error {
	if err := r.open(where, '[', "list"); err != nil {
		return err
	}
	for i := 0; r.d.More(); i++ {
		if err := f(i); err != nil {
			return err
		}
	}
	_, err := r.d.Token()
	return err
}

func (r *reader) open(where string, delim json.Delim, what string) error {
	t, err := r.d.Token()
	if err != nil {
		return err
	}
	if t != delim {
		return fmt.Errorf("%s: %v is no %s", where, shown(t), what)
	}
	return nil
}

func shown(t json.Token) string {
	if d, ok := t.(json.Delim); ok {
		return fmt.Sprintf("%q", rune(d))
	}
	return fmt.Sprintf("%.40q", fmt.Sprint(t))
}

// value reads a value into what dst points to. Its size is known before memory is taken.
func (r *reader) value(where string, dst any) error {
	var raw json.RawMessage
	if err := r.d.Decode(&raw); err != nil {
		return err
	}
	raw = bytes.TrimSpace(raw)
	what, most := "", 0
	switch dst.(type) {
	case *json.RawMessage:
		return nil
	case *string, *Op:
		what = "text"
	case *int:
		what = "whole number"
	case *float64:
		what = "number"
	case *[]int:
		what, most = "list of whole numbers", maxAxes
	case *[]float64:
		what, most = "list of numbers", maxNodes
	}
	if most > 0 && bytes.Count(raw, []byte(",")) > most {
		return fmt.Errorf("%s: a list has more than %d elements", where, most)
	}
	if bytes.Contains(raw, []byte("null")) && what != "text" || string(raw) == "null" || json.Unmarshal(raw, dst) != nil {
		return fmt.Errorf("%s: %.40s is no %s", where, strings.Join(strings.Fields(string(raw)), " "), what)
	}
	return nil
}
