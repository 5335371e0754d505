package sim

import (
	"bytes"
	"embed"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"strings"
)

//go:embed cards/*.json
var cardFiles embed.FS

// Card is a model of device that somebody has measured.
type Card struct {
	Name   string `json:"-"` // as in sim:NAME
	Model  string `json:"model"`
	Source string `json:"source"` // who measured it
	Measured
}

// Cards returns the embedded cards by name.
func Cards() []Card {
	files, err := fs.Glob(cardFiles, "cards/*.json")
	if err != nil {
		panic(err) // the pattern is a constant
	}
	var cards []Card
	for _, f := range files {
		c, err := readCard(f)
		if err != nil {
			panic(err) // embedded; a test reads all of them
		}
		cards = append(cards, c)
	}
	return cards
}

func readCard(file string) (Card, error) {
	raw, err := cardFiles.ReadFile(file)
	if err != nil {
		return Card{}, err
	}
	c, err := ParseCard(raw)
	if err != nil {
		return Card{}, fmt.Errorf("read %s: %w", file, err)
	}
	c.Name = strings.TrimSuffix(strings.TrimPrefix(file, "cards/"), ".json")
	return c, nil
}

// ParseCard reads a card from the content of its file: a JSON object with the keys of Card. It has no name yet.
func ParseCard(raw []byte) (Card, error) {
	d := json.NewDecoder(bytes.NewReader(raw))
	d.DisallowUnknownFields()
	var c Card
	if err := d.Decode(&c); err != nil {
		return Card{}, fmt.Errorf("not a card: %w", err)
	}
	if c.Model == "" {
		return Card{}, errors.New("not a card: it names no model")
	}
	return c, c.validate()
}

// FindCard returns the embedded card of that name, as in sim:NAME. The error lists those that there are.
func FindCard(name string) (Card, error) {
	var names []string
	for _, c := range Cards() {
		if c.Name == name {
			return c, nil
		}
		names = append(names, c.Name)
	}
	return Card{}, fmt.Errorf("no card %q: there are %s", name, strings.Join(names, ", "))
}
