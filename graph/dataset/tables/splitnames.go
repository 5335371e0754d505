package tables

import (
	"regexp"
	"slices"
	"strings"

	"capgnn/graph/dataset/internal/fields"
)

// setOf returns the set that a word names: 0 train, 1 val, 2 test, -1 none.
func setOf(word string) (set int, ok bool) {
	if fields.Unknown(word) {
		return -1, true
	}
	word = strings.ToLower(word)
	for set, names := range fields.SetNames {
		if slices.Contains(names, word) {
			return set, true
		}
	}
	return -1, word == "unlabeled" || word == "unlabelled"
}

// maskName returns the set whose mask a column is by its name; several tells that it is the mask of one of several
// splits.
func maskName(name string) (set int, ok, several bool) {
	key := fields.NameKey(name)
	bare := strings.TrimRight(key, "0123456789")
	word, is := strings.CutSuffix(bare, "mask")
	if !is {
		return 0, false, false
	}
	if set, ok = setOf(word); !ok || set < 0 {
		return 0, false, false
	}
	return set, true, bare != key
}

// namesOfSplits are names of columns that hold nothing but sets of a split.
var namesOfSplits = []string{"split", "fold", "subset", "partition", "mask", "set"}

var nameWord = regexp.MustCompile(`[A-Z]?[a-z]+|[A-Z]+`)

// likeSplit reports whether a column may say which set of the split a vertex is in, by its values: words for sets, or, with
// a word of its name that says so, few whole numbers, or true and false.
func (c *column) likeSplit() bool {
	const folds = 20
	if c.role != roleFeature {
		words, flags := len(c.names) > 1, len(c.names) > 0
		for name := range c.names {
			_, word := setOf(name)
			_, whole := fields.Whole(name)
			_, truth := fields.Truth(name)
			words, flags = words && word, flags && (whole || truth)
		}
		return words || flags && len(c.names) <= folds && c.splitName()
	}
	return (c.kind == cellTruth || c.kind == cellNumber && !c.broken && c.least >= -1 && c.largest <= folds) && c.splitName()
}

// splitName reports whether a word of a column's name speaks of a split.
func (c *column) splitName() bool {
	return slices.ContainsFunc(nameWord.FindAllString(c.name, -1), func(word string) bool {
		word = strings.ToLower(word)
		for _, known := range []string{"train", "valid", "test", "holdout", "fold", "split"} {
			if strings.HasPrefix(word, known) {
				return true
			}
		}
		for _, known := range []string{"train", "test", "val", "fold", "split"} {
			if before, is := strings.CutSuffix(word, known); is && slices.Contains([]string{"is", "in", "k", "x", "y"}, before) {
				return true
			}
		}
		return word == "cv" || word == "dev" || slices.Contains(namesOfSplits[2:5], word)
	})
}
