package report

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"

	"capgnn/internal/number"
)

// Components are rows of a layer along their first two principal components: pca.json, as `predict --what pca` writes it.
type Components struct {
	Dataset  string     `json:"dataset"`
	Weights  string     `json:"weights"`
	Epoch    *int       `json:"epoch"`
	Layer    *int       `json:"layer"` // nil: logits
	Vertices int        `json:"vertices"`
	LeftOut  int        `json:"left_out"`
	Variance [2]float64 `json:"variance"` // shares
	Several  bool       `json:"multi_label"`
	X        []float64  `json:"x"`
	Y        []float64  `json:"y"`
	Class    []int      `json:"class"` // -1: none; nil: not known
}

// maxComponentsBytes bounds pca.json, and maxPlaces the points that are drawn.
const (
	maxComponentsBytes = 1 << 20
	maxPlaces          = 5000
)

// ReadComponents reads pca.json.
func ReadComponents(r io.Reader) (*Components, error) {
	data, err := io.ReadAll(io.LimitReader(r, maxComponentsBytes+1))
	if err != nil {
		return nil, err
	}
	if len(data) > maxComponentsBytes {
		return nil, fmt.Errorf("larger than %d bytes: not what `capgnn predict --what pca` writes", maxComponentsBytes)
	}
	c := new(Components)
	if err := json.Unmarshal(data, c); err != nil {
		return nil, err
	}
	if len(c.X) != len(c.Y) || c.Class != nil && len(c.Class) != len(c.X) || len(c.X) > maxPlaces {
		return nil, fmt.Errorf("%d, %d and %d numbers of points: write it again with `capgnn predict --what pca`", len(c.X), len(c.Y), len(c.Class))
	}
	for i := range c.X {
		if !(abs(c.X[i]) <= largest && abs(c.Y[i]) <= largest) {
			return nil, errors.New("points beyond what is drawn")
		}
	}
	return c, nil
}

func abs(x float64) float64 { return max(x, -x) }

// componentSection draws where vertices lie.
func (r *Run) componentSection() (section, bool) {
	c := r.Components
	if c == nil || len(c.X) == 0 {
		return section{}, false
	}
	what := "The logits of the model"
	if c.Layer != nil {
		what = fmt.Sprintf("The rows of hidden layer %d", *c.Layer)
	}
	text := []string{what, "of", number.Counted(len(c.X), "vertex")}
	if c.Vertices > len(c.X) {
		text = append(text, "of", number.Grouped(int64(c.Vertices)))
	}
	text = append(text, "along their first two principal components, by the weights of", c.Weights)
	if c.Epoch != nil {
		text = append(text, fmt.Sprintf("(epoch %d)", *c.Epoch))
	}
	return sectionOf("Embeddings", strings.Join(text, " ")+".", r.componentScatter())
}

// componentScatter draws the points, coloured by class.
func (r *Run) componentScatter() *scatter {
	c := r.Components
	s := scatter{ID: "components", Title: "Principal components", XName: "first component, " + written(share, c.Variance[0]) + " of the variance",
		YName: "second component, " + written(share, c.Variance[1]) + " of the variance"}
	switch {
	case c.Several:
		s.Note = "Vertices have several labels each, so points have no colours. "
	case c.Class == nil:
		s.Note = "The data set has no labels, so points have no colours. "
	default:
		s.Note = "Colours and shapes are the labels of the data set. "
	}
	s.Note += "A unit is as long on both axes."
	if c.LeftOut > 0 {
		s.Note += fmt.Sprintf(" %s left out: numbers of their rows are not finite, or very large.", number.Counted(c.LeftOut, "vertex"))
	}
	return scatterOf(s, c.X, c.Y, c.Class, func(class int) string {
		switch {
		case class < 0:
			return "no label"
		case r.Result == nil:
			return fmt.Sprint(class)
		}
		return r.className(class)
	})
}
