package cluster

import (
	"strings"
	"testing"
)

// environment makes a lookup of words such as RANK=1.
func environment(words string) Lookup {
	vars := map[string]string{}
	for _, w := range strings.Fields(words) {
		name, value, _ := strings.Cut(w, "=")
		vars[name] = value
	}
	return func(name string) (string, bool) { v, ok := vars[name]; return v, ok }
}

const (
	torch = " RANK=1 WORLD_SIZE=4 MASTER_ADDR=torch MASTER_PORT=1111 LOCAL_RANK=1 LOCAL_WORLD_SIZE=2"
	ompi  = " OMPI_COMM_WORLD_RANK=2 OMPI_COMM_WORLD_SIZE=4 OMPI_COMM_WORLD_LOCAL_RANK=0 OMPI_COMM_WORLD_LOCAL_SIZE=2"
	pmi   = " PMI_RANK=2 PMI_SIZE=4 MPI_LOCALRANKID=0 MPI_LOCALNRANKS=2"
	slurm = " SLURM_STEP_ID=0 SLURM_PROCID=2 SLURM_NTASKS=4 SLURM_STEP_NUM_TASKS=4 SLURM_JOB_ID=61234 SLURM_STEP_NODELIST=n[03-04] SLURM_LOCALID=0" +
		" SLURM_NODEID=1 SLURM_STEP_TASKS_PER_NODE=2(x2)"
	pod = " JOB_COMPLETION_INDEX=3 WORLD_SIZE=4 MASTER_ADDR=job-0.svc"
)

func TestFind(t *testing.T) {
	all := Flags{Rank: "0", Ranks: "2", Master: "flag:7"}
	for _, tc := range []struct {
		name  string
		flags Flags
		env   string
		want  Place
	}{
		{"nothing", Flags{}, "", Place{}},
		{"flags", all, torch, Place{0, 2, "flag:7", 0, 0, "flags"}},
		{"flags without a port", Flags{Rank: "1", Ranks: "2", Master: "[::1]:9"}, "", Place{1, 2, "[::1]:9", 0, 0, "flags"}},
		{"torchrun", Flags{}, torch + ompi + pmi + slurm, Place{1, 4, "torch:1111", 1, 2, "torchrun"}},
		{"torchrun, which has the port", Flags{}, torch + " TORCHELASTIC_USE_AGENT_STORE=True", Place{1, 4, "torch:1112", 1, 2, "torchrun"}},
		{"torchrun, which has another port", Flags{}, torch + " TORCHELASTIC_USE_AGENT_STORE=False", Place{1, 4, "torch:1111", 1, 2, "torchrun"}},
		{"torchrun, default port, local rank that cannot be", Flags{}, "RANK=0 WORLD_SIZE=1 MASTER_ADDR=::1 LOCAL_RANK=3 LOCAL_WORLD_SIZE=2", Place{0, 1, "[::1]:29500", 0, 0, "torchrun"}},
		{"Open MPI with an address", Flags{}, ompi + " MASTER_ADDR=m", Place{2, 4, "m:29500", 0, 2, "Open MPI"}},
		{"Open MPI on one host", Flags{}, "OMPI_COMM_WORLD_RANK=1 OMPI_COMM_WORLD_SIZE=2 OMPI_COMM_WORLD_LOCAL_RANK=1 OMPI_COMM_WORLD_LOCAL_SIZE=2 MASTER_PORT=5", Place{1, 2, "127.0.0.1:5", 1, 2, "Open MPI"}},
		{"a single rank of PMI", Flags{}, "PMI_RANK=0 PMI_SIZE=1", Place{0, 1, "127.0.0.1:29500", 0, 0, "PMI"}},
		{"PMI with address and port", Flags{}, pmi + " MASTER_ADDR=m MASTER_PORT=6", Place{2, 4, "m:6", 0, 2, "PMI"}},
		{"PMI of srun", Flags{}, pmi + slurm, Place{2, 4, "n03:21234", 0, 2, "Slurm"}},
		{"Slurm", Flags{}, slurm, Place{2, 4, "n03:21234", 0, 2, "Slurm"}},
		{"Slurm, the highest port", Flags{}, strings.ReplaceAll(slurm, "SLURM_JOB_ID=61234", "SLURM_JOB_ID=59999"), Place{2, 4, "n03:31999", 0, 2, "Slurm"}},
		{"Slurm, tasks of the step", Flags{}, strings.ReplaceAll(slurm, "SLURM_NTASKS=4", "SLURM_NTASKS=64"), Place{2, 4, "n03:21234", 0, 2, "Slurm"}},
		{"Slurm, without the step's own number", Flags{}, strings.ReplaceAll(slurm, "SLURM_STEP_NUM_TASKS=4", ""), Place{2, 4, "n03:21234", 0, 2, "Slurm"}},
		{"Slurm with an address", Flags{}, slurm + " MASTER_ADDR=ib0 MASTER_PORT=4", Place{2, 4, "ib0:4", 0, 2, "Slurm"}},
		{"Slurm, as batch scripts prepare torch", Flags{}, slurm + " MASTER_ADDR=n03 WORLD_SIZE=4", Place{2, 4, "n03:21234", 0, 2, "Slurm"}},
		{"batch script", Flags{}, strings.ReplaceAll(slurm, "SLURM_STEP_ID=0", ""), Place{}},
		{"interactive step", Flags{}, strings.ReplaceAll(slurm, "SLURM_STEP_ID=0", "SLURM_STEP_ID=4294967290"), Place{}},
		{"Kubernetes", Flags{}, pod, Place{3, 4, "job-0.svc:29500", 0, 0, "Kubernetes"}},
		{"a pod for itself", Flags{}, "JOB_COMPLETION_INDEX=3", Place{}},
		{"empty variables", Flags{}, "RANK= WORLD_SIZE= MASTER_ADDR= MASTER_PORT=", Place{}},
	} {
		if got, err := Find(tc.flags, environment(tc.env)); err != nil || got != tc.want {
			t.Errorf("%s: %+v, %v, want %+v", tc.name, got, err, tc.want)
		}
	}
}

func TestFindRefuses(t *testing.T) {
	without := func(env, name string) string {
		return strings.ReplaceAll(env, " "+name+"=", " NOT_"+name+"=")
	}
	for _, tc := range []struct {
		name  string
		flags Flags
		env   string
		says  string
	}{
		{"half flags", Flags{Rank: "1"}, torch, "--ranks rank is set, but not --ranks and --ranks master: set all"},
		{"half torchrun", Flags{}, without(torch, "MASTER_ADDR"), "RANK, WORLD_SIZE and MASTER_PORT are set, but not MASTER_ADDR: set all"},
		{"address alone", Flags{}, "MASTER_ADDR=a", "MASTER_ADDR is set, but not RANK and WORLD_SIZE"},
		{"half Open MPI", Flags{}, without(ompi, "OMPI_COMM_WORLD_SIZE"), "OMPI_COMM_WORLD_RANK is set, but not OMPI_COMM_WORLD_SIZE"},
		{"half PMI", Flags{}, "PMI_SIZE=2", "PMI_SIZE is set, but not PMI_RANK"},
		{"half Slurm", Flags{}, without(slurm, "SLURM_PROCID"), "SLURM_JOB_ID and SLURM_STEP_NODELIST are set, but not SLURM_PROCID: set all"},
		{"Slurm without nodes", Flags{}, without(slurm, "SLURM_STEP_NODELIST"), "but not SLURM_STEP_NODELIST"},
		{"half Kubernetes", Flags{}, without(pod, "MASTER_ADDR"), "JOB_COMPLETION_INDEX and WORLD_SIZE are set, but not MASTER_ADDR"},
		{"rank too large", Flags{}, "RANK=4 WORLD_SIZE=4 MASTER_ADDR=a", `RANK="4" is no rank: with WORLD_SIZE=4 ranks are 0 to 3`},
		{"negative rank", Flags{}, "RANK=-1 WORLD_SIZE=4 MASTER_ADDR=a", `RANK="-1" is no rank`},
		{"no number", Flags{}, "RANK=one WORLD_SIZE=4 MASTER_ADDR=a", `RANK="one" is no rank`},
		{"no ranks", Flags{}, "RANK=0 WORLD_SIZE=0 MASTER_ADDR=a", `WORLD_SIZE="0" is no number of ranks from 1 to 4096`},
		{"too many ranks", Flags{}, "RANK=0 WORLD_SIZE=4097 MASTER_ADDR=a", `WORLD_SIZE="4097" is no number of ranks`},
		{"flag that is none", Flags{Rank: "x", Ranks: "2", Master: "a"}, "", `--ranks rank="x" is no rank: with --ranks=2`},
		{"port out of range", Flags{}, "RANK=0 WORLD_SIZE=1 MASTER_ADDR=a MASTER_PORT=65536", `MASTER_ADDR: port "65536" is no number from 1 to 65535`},
		{"address that is none", Flags{Rank: "0", Ranks: "2", Master: "a b"}, "", `--ranks master: "a b" is no address`},
		{"two ports", Flags{}, "RANK=0 WORLD_SIZE=1 MASTER_ADDR=a:1 MASTER_PORT=2", `drop one`},
		{"Open MPI on two hosts", Flags{}, ompi, "Open MPI gives rank 2 of 4, but not the machine of rank 0: set MASTER_ADDR"},
		{"mpirun within Slurm", Flags{}, ompi + strings.ReplaceAll(slurm, "SLURM_PROCID=2", "SLURM_PROCID=1"), "Open MPI gives rank 2 of 4, but not"},
		{"mpirun within Slurm, as it starts its daemon elsewhere", Flags{}, "OMPI_COMM_WORLD_RANK=1 OMPI_COMM_WORLD_SIZE=2 OMPI_COMM_WORLD_LOCAL_RANK=0 OMPI_COMM_WORLD_LOCAL_SIZE=1" +
			" SLURM_STEP_ID=0 SLURM_PROCID=0 SLURM_STEP_NUM_TASKS=1 SLURM_NTASKS=1 SLURM_JOB_ID=9 SLURM_STEP_NODELIST=nodeb", "Open MPI gives rank 1 of 2, but not"},
		{"node list", Flags{}, strings.ReplaceAll(slurm, "n[03-04]", "n[4-3]"), `SLURM_STEP_NODELIST: node list "n[4-3]": "4-3" is neither a number nor a range such as 01-16; or set MASTER_ADDR`},
		{"job", Flags{}, strings.ReplaceAll(slurm, "61234", "x"), `SLURM_JOB_ID="x" is no number of a job`},
	} {
		got, err := Find(tc.flags, environment(tc.env))
		if err == nil || !strings.Contains(err.Error(), tc.says) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%s: %+v, %v, want an error with %q", tc.name, got, err, tc.says)
		}
	}
}

// Whatever a variable holds, Find neither panics nor returns a place that cannot be.
func FuzzFind(f *testing.F) {
	for i, base := range []string{torch, ompi, pmi, slurm, pod} {
		f.Add(byte(i), "RANK", base)
		f.Add(byte(i), "SLURM_STEP_TASKS_PER_NODE", "2(x3),1")
	}
	f.Fuzz(func(t *testing.T, which byte, name, value string) {
		base := environment([]string{torch, ompi, pmi, slurm, pod}[int(which)%5])
		p, err := Find(Flags{}, func(n string) (string, bool) {
			if n == name {
				return value, true
			}
			return base(n)
		})
		if err != nil || p == (Place{}) {
			return
		}
		if p.Rank < 0 || p.Rank >= p.Ranks || p.Ranks > MaxRanks || p.LocalRank < 0 || p.LocalRanks > 0 && p.LocalRank >= p.LocalRanks || p.Master == "" || p.Source == "" {
			t.Errorf("%s=%q: %+v", name, value, p)
		}
	})
}

func TestTasksOn(t *testing.T) {
	for _, tc := range []struct{ list, node, want string }{
		{"2(x3),1", "0", "2"}, {"2(x3),1", "2", "2"}, {"2(x3),1", "3", "1"}, {"2(x3),1", "4", ""}, {"4", "0", "4"}, {"4,3", "1", "3"},
		{"2(x", "0", ""}, {"", "0", ""}, {"2", "", ""}, {"2(x999999999999)", "1", ""},
	} {
		if got := tasksOn(tc.list, tc.node); got != tc.want {
			t.Errorf("%q, node %q: %q, want %q", tc.list, tc.node, got, tc.want)
		}
	}
}
