package report

import (
	"math"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

// sights are how people see: with all cones, and without one kind of them (Machado, Oliveira and Fernandes 2009, severity 1, on
// linear RGB).
var sights = map[string][9]float64{
	"all cones":    {1, 0, 0, 0, 1, 0, 0, 0, 1},
	"protanopia":   {0.152286, 1.052583, -0.204868, 0.114503, 0.786281, 0.099216, -0.003882, -0.048116, 1.051998},
	"deuteranopia": {0.367322, 0.860646, -0.227968, 0.280085, 0.672501, 0.047413, -0.011820, 0.042940, 0.968881},
	"tritanopia":   {1.255528, -0.076749, -0.178779, -0.078411, 0.930809, 0.147602, 0.004733, 0.691367, 0.303900},
}

// rgb is a colour in linear light.
type rgb [3]float64

func parseRGB(t *testing.T, text string) (c rgb) {
	t.Helper()
	for i := range c {
		n, err := strconv.ParseUint(text[1+2*i:3+2*i], 16, 8)
		if err != nil {
			t.Fatal(err)
		}
		if x := float64(n) / 255; x <= 0.04045 {
			c[i] = x / 12.92
		} else {
			c[i] = math.Pow((x+0.055)/1.055, 2.4)
		}
	}
	return c
}

func (c rgb) seen(m [9]float64) (out rgb) {
	for i := range out {
		out[i] = min(1, max(0, m[3*i]*c[0]+m[3*i+1]*c[1]+m[3*i+2]*c[2]))
	}
	return out
}

// oklab is the colour in a space whose distances are about those of the eye (Ottosson 2020).
func (c rgb) oklab() [3]float64 {
	l := math.Cbrt(0.4122214708*c[0] + 0.5363325363*c[1] + 0.0514459929*c[2])
	m := math.Cbrt(0.2119034982*c[0] + 0.6806995451*c[1] + 0.1073969566*c[2])
	s := math.Cbrt(0.0883024619*c[0] + 0.2817188376*c[1] + 0.6299787005*c[2])
	return [3]float64{0.2104542553*l + 0.7936177850*m - 0.0040720468*s, 1.9779984951*l - 2.4285922050*m + 0.4505937099*s,
		0.0259040371*l + 0.7827717662*m - 0.8086757660*s}
}

func (c rgb) luminance() float64 { return 0.2126*c[0] + 0.7152*c[1] + 0.0722*c[2] }

// Any two colours of curves differ for everybody, in light and dark, and all stand out from what is behind them. Distances are of
// OKLab, where 0.02 is what an eye just tells apart side by side; legends are apart, so 0.12 is asked for, and 0.075 of eyes with two
// kinds of cones.
func TestColoursDiffer(t *testing.T) {
	light, dark, found := strings.Cut(styleSource, "@media (prefers-color-scheme: dark)")
	if !found {
		t.Fatal("there is no dark scheme")
	}
	colour := regexp.MustCompile(`--(c[0-9]|panel): (#[0-9a-f]{6})`)
	for name, scheme := range map[string]string{"light": light, "dark": dark[:strings.Index(dark, "body")]} {
		colours := map[string]rgb{}
		for _, m := range colour.FindAllStringSubmatch(scheme, -1) {
			colours[m[1]] = parseRGB(t, m[2])
		}
		panel, ok := colours["panel"]
		if delete(colours, "panel"); !ok || len(colours) != colourCount {
			t.Fatalf("%s: %d colours, want %d and a panel", name, len(colours), colourCount)
		}
		for a, x := range colours {
			if lo, hi := min(x.luminance(), panel.luminance()), max(x.luminance(), panel.luminance()); (hi+0.05)/(lo+0.05) < 2.1 {
				t.Errorf("%s: --%s has a contrast of %.2f with the panel", name, a, (hi+0.05)/(lo+0.05))
			}
			for b, y := range colours {
				for sight, m := range sights {
					least := 0.12
					if sight != "all cones" {
						least = 0.075
					}
					p, q := x.seen(m).oklab(), y.seen(m).oklab()
					if d := math.Hypot(math.Hypot(p[0]-q[0], p[1]-q[1]), p[2]-q[2]); a < b && d < least {
						t.Errorf("%s: --%s and --%s are %.3f apart with %s, want %v", name, a, b, d, sight, least)
					}
				}
			}
		}
	}
}
