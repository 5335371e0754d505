package docs

import (
	"os"
	"os/exec"
	"strconv"
	"strings"
	"testing"

	"github.com/goccy/go-yaml"
)

// The guide leads to the job scripts, and bash reads what scripts/slurmcheck runs.
func TestGuideNamesJobs(t *testing.T) {
	guide, err := os.ReadFile("guide/several-machines.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"train.sbatch", "kubernetes.yaml"} {
		if !strings.Contains(string(guide), "](jobs/"+name+")") {
			t.Errorf("guide/several-machines.md does not lead to guide/jobs/%s", name)
		}
	}
	if out, err := exec.Command("bash", "-n", "guide/jobs/train.sbatch").CombinedOutput(); err != nil {
		t.Errorf("bash does not read train.sbatch: %s", out)
	}
}

// The ranks of the manifest are as many as its pods, and the name of rank 0 is that of the first pod.
func TestKubernetesManifest(t *testing.T) {
	text, err := os.ReadFile("guide/jobs/kubernetes.yaml")
	if err != nil {
		t.Fatal(err)
	}
	service, job, found := strings.Cut(string(text), "\n---\n")
	var s struct {
		Kind     string
		Metadata struct{ Name string }
		Spec     struct {
			ClusterIP string `yaml:"clusterIP"`
			Selector  map[string]string
		}
	}
	var j struct {
		Kind     string
		Metadata struct{ Name string }
		Spec     struct {
			CompletionMode           string `yaml:"completionMode"`
			Completions, Parallelism int
			Template                 struct {
				Spec struct {
					Subdomain  string
					Containers []struct {
						Command []string
						Env     []struct{ Name, Value string }
					}
				}
			}
		}
	}
	if err := yaml.Unmarshal([]byte(service), &s); err != nil {
		t.Fatal(err)
	}
	if err := yaml.Unmarshal([]byte(job), &j); err != nil {
		t.Fatal(err)
	}
	if !found || s.Kind != "Service" || j.Kind != "Job" || len(j.Spec.Template.Spec.Containers) != 1 {
		t.Fatalf("the manifest has a %s and a %s", s.Kind, j.Kind)
	}
	pods := j.Spec.Template.Spec
	env := map[string]string{}
	for _, e := range pods.Containers[0].Env {
		env[e.Name] = e.Value
	}
	want := map[string]string{"WORLD_SIZE": strconv.Itoa(j.Spec.Completions), "MASTER_ADDR": j.Metadata.Name + "-0." + s.Metadata.Name, "CAPGNN_SECRET": ""}
	for name, value := range want {
		if got, set := env[name]; !set || got != value {
			t.Errorf("%s is %q, want %q", name, got, value)
		}
	}
	if j.Spec.CompletionMode != "Indexed" || j.Spec.Completions < 2 || j.Spec.Parallelism != j.Spec.Completions {
		t.Errorf("the job is %+v", j.Spec)
	}
	if s.Spec.ClusterIP != "None" || s.Spec.Selector["job-name"] != j.Metadata.Name || pods.Subdomain != s.Metadata.Name {
		t.Errorf("the service %+v does not name the pods of %s in %s", s.Spec, j.Metadata.Name, pods.Subdomain)
	}
	if out, err := exec.Command("sh", "-n", "-c", pods.Containers[0].Command[2]).CombinedOutput(); err != nil {
		t.Errorf("sh does not read the command: %s", out)
	}
}
