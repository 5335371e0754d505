package golden

import (
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

func TestLoad(t *testing.T) {
	cases, err := Load()
	if err != nil {
		t.Fatal(err)
	}
	undirected, directed, multilabel, weighted := Dims{3, 16, 12, 5, 0}, Dims{2, 8, 9, 4, 0}, Dims{3, 8, 7, 6, 0}, Dims{3, 8, 7, 4, 0}
	residual := Dims{4, 8, 12, 5, 0}
	jumping := map[string]Dims{"gcn": {3, 8, 12, 5, 0}, "sage": {2, 8, 9, 4, 0}, "gin": multilabel, "gat": multilabel, "gatv2": {1, 8, 9, 4, 0}}
	plain := map[string]Dims{"gcn": multilabel, "sage": multilabel, "gin": {2, 8, 12, 5, 0}, "gat": multilabel, "gatv2": {2, 8, 12, 5, 0}}
	most := map[string]Dims{"gcn": {3, 8, 12, 5, 0}, "gatv2": {2, 8, 7, 6, 0}}
	added := map[string]Dims{"sage": {3, 8, 9, 4, 0}, "gin": {1, 8, 12, 5, 0}}
	var names []string
	for i := range cases {
		c := &cases[i]
		names = append(names, c.Name)
		variant := c.Name[len(c.Kind)+1:]
		want, ok := map[string]Dims{"undirected": undirected, "directed": directed, "multilabel": multilabel, "weighted": weighted, "residual": residual, "jumping": jumping[c.Kind], "plain": plain[c.Kind], "max": most[c.Kind], "sum": added[c.Kind]}[variant]
		if !ok { // an activation, over the data of the multi-label case
			want = multilabel
		}
		if ok != (c.Activation == "") || !ok && c.Activation != strings.ReplaceAll(variant, "-", "_") {
			t.Errorf("%s: activation %q", c.Name, c.Activation)
		}
		switch c.Kind {
		case "gat", "gatv2":
			want.Heads = 2
		case "sgc":
			want.Hidden = 0
		case "appnp", "gcnii":
			want.Layers = 4
		}
		if got := c.Dims(); got != want {
			t.Errorf("%s: %+v, want %+v", c.Name, got, want)
		}
		if c.Multi() != (want.Out == multilabel.Out) {
			t.Errorf("%s: multi-label %v", c.Name, c.Multi())
		}
		if jk := map[string]string{"jumping": "cat", "max": "max", "sum": "sum"}[variant]; c.JK() != jk {
			t.Errorf("%s: jumping knowledge %q, want %q", c.Name, c.JK(), jk)
		}
		if (c.Norm() == "none") != (variant == "plain" || slices.Contains([]string{"sgc", "appnp", "gcnii"}, c.Kind)) {
			t.Errorf("%s: norm %s", c.Name, c.Norm())
		}
		if (c.Alpha != 0) != (c.Layers != 0) || (c.Theta != 0) != (c.Layers != 0) {
			t.Errorf("%s: alpha %g, theta %g beside %d layers", c.Name, c.Alpha, c.Theta, c.Layers)
		}
		if c.Param("convs.0.bias") == nil == (c.Kind == "gcn" || strings.HasPrefix(c.Kind, "gat")) || c.Param("x") != nil {
			t.Errorf("%s: Param finds the wrong names", c.Name)
		}
		if !slices.Contains(c.TrainMask, true) || !slices.Contains(c.TrainMask, false) {
			t.Errorf("%s: the training mask selects all or nothing", c.Name)
		}
		if (c.Weights != nil) != (strings.HasSuffix(c.Name, "_weighted")) || len(c.Float32Weights()) != len(c.Weights) {
			t.Errorf("%s: %d weights", c.Name, len(c.Weights))
		}
		checkLoss(t, c)
	}
	want := []string{"appnp_elu", "appnp_multilabel", "appnp_weighted", "gat_directed", "gat_elu", "gat_jumping", "gat_multilabel", "gat_plain", "gat_residual", "gat_undirected", "gatv2_directed", "gatv2_jumping", "gatv2_max", "gatv2_multilabel", "gatv2_plain", "gatv2_residual", "gatv2_tanh", "gcn_directed", "gcn_jumping", "gcn_leaky-relu", "gcn_max", "gcn_multilabel", "gcn_plain", "gcn_residual", "gcn_undirected", "gcn_weighted", "gcnii_multilabel", "gcnii_tanh", "gcnii_weighted",
		"gin_directed", "gin_jumping", "gin_multilabel", "gin_plain", "gin_residual", "gin_sum", "gin_tanh", "gin_undirected", "gin_weighted", "sage_directed", "sage_elu", "sage_jumping", "sage_multilabel", "sage_plain", "sage_residual", "sage_sum", "sage_undirected", "sage_weighted", "sgc_multilabel", "sgc_weighted"}
	if !slices.Equal(names, want) {
		t.Errorf("cases %v, want %v", names, want)
	}
}

// checkLoss recomputes the loss from the logits: it shows that masks, labels and logits were read in the right order.
// Both sides are float64 over at most 360 terms, so 1e-12 is far above rounding.
func checkLoss(t *testing.T, c *Case) {
	t.Helper()
	classes := c.Logits.Shape[1]
	var sum, terms float64
	for v, in := range c.TrainMask {
		if !in {
			continue
		}
		row := c.Logits.Data[v*classes : (v+1)*classes]
		if c.Multi() {
			for k, z := range row {
				sum += math.Log1p(math.Exp(-math.Abs(z))) + max(z, 0) - z*float64(c.Targets[v*classes+k])
				terms++
			}
			continue
		}
		var total float64
		for _, z := range row {
			total += math.Exp(z)
		}
		sum += math.Log(total) - row[c.Labels[v]]
		terms++
	}
	if got := sum / terms; math.Abs(got-c.Loss) > 1e-12*math.Abs(c.Loss) {
		t.Errorf("%s: loss of the logits is %.15g, the file says %.15g", c.Name, got, c.Loss)
	}
	if c.AdamLosses[0] != c.Loss {
		t.Errorf("%s: first Adam loss %.15g, loss %.15g", c.Name, c.AdamLosses[0], c.Loss)
	}
}

func TestTolerance(t *testing.T) {
	g := []float64{3, 4, 0, 0}
	if got, want := Tolerance(g), 5e-4+2e-7; math.Abs(got-want) > 1e-18 {
		t.Errorf("tolerance %g, want %g", got, want)
	}
	if d := Distance(g, []float64{3, 4, 0, 2}); d != 2 {
		t.Errorf("distance %g, want 2", d)
	}
	if d := Distance(g, g[:3]); d <= Tolerance(g) || !math.IsNaN(d) {
		t.Errorf("distance of different lengths is %g", d)
	}
}

func TestReadRefusesBrokenFiles(t *testing.T) {
	dir, err := folder()
	if err != nil {
		t.Fatal(err)
	}
	whole, err := os.ReadFile(filepath.Join(dir, "gcn_directed.npz"))
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "gcn_directed.npz")
	for _, n := range []int{0, 100, len(whole) / 2, len(whole) - 1} {
		if err := os.WriteFile(path, whole[:n], 0o644); err != nil {
			t.Fatal(err)
		}
		if _, err := Read(path); err == nil {
			t.Errorf("a file cut to %d bytes was read", n)
		}
	}
}
