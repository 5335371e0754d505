package cluster

import (
	"fmt"
	"strconv"
	"strings"
)

const flagSource = "flags"

// What a user writes of a rank: --ranks N,rank=R,master=HOST.
const (
	flagRanks  = "--ranks"
	flagRank   = "--ranks rank"
	flagMaster = "--ranks master"
)

// source is one of the programs that start ranks, and how it tells a rank its place.
type source struct {
	name string
	env  Lookup
	read func(*reading)
}

// sources returns all, in the order in which they count.
func sources(flags Flags, env Lookup) []source {
	given := map[string]string{flagRanks: flags.Ranks, flagRank: flags.Rank, flagMaster: flags.Master}
	byFlag := func(name string) (string, bool) { return given[name], given[name] != "" }
	return []source{
		{flagSource, byFlag, readFlags},
		{"torchrun", env, readTorchrun},
		{"Open MPI", env, func(r *reading) {
			readMPI(r, "OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_LOCAL_RANK", "OMPI_COMM_WORLD_LOCAL_SIZE")
		}},
		{"PMI", env, func(r *reading) { readMPI(r, "PMI_RANK", "PMI_SIZE", "MPI_LOCALRANKID", "MPI_LOCALNRANKS") }},
		{"Slurm", env, readSlurm},
		{"Kubernetes", env, readKubernetes},
	}
}

func readFlags(r *reading) {
	r.rank(flagRank, r.need(flagRank), flagRanks, r.need(flagRanks))
	r.master(flagMaster, r.need(flagMaster), "")
}

// readTorchrun reads the variables that PyTorch's launcher sets, and `capgnn launch`. Where torchrun listens at MASTER_PORT itself, as it says, rank 0 takes
// the next port.
func readTorchrun(r *reading) {
	r.rank("RANK", r.need("RANK"), "WORLD_SIZE", r.need("WORLD_SIZE"))
	host := r.need("MASTER_ADDR")
	port, _ := r.ask("MASTER_PORT")
	if n, err := strconv.ParseUint(port, 10, 16); err == nil && n > 0 && n < 65535 && r.peek("TORCHELASTIC_USE_AGENT_STORE") == "True" {
		port = strconv.FormatUint(n+1, 10)
	}
	r.master("MASTER_ADDR", host, port)
	r.local(r.peek("LOCAL_RANK"), r.peek("LOCAL_WORLD_SIZE"))
}

// readMPI reads the variables of mpirun. They do not say where rank 0 is: MASTER_ADDR does, or all ranks are on this host.
func readMPI(r *reading, rank, size, localRank, localSize string) {
	if r.peek(rank) == "" && r.peek(size) == "" {
		return
	}
	r.rank(rank, r.need(rank), size, r.need(size))
	r.local(r.peek(localRank), r.peek(localSize))
	host := r.peek("MASTER_ADDR")
	if host == "" && r.place.Ranks > 0 && (r.place.LocalRanks == r.place.Ranks || r.place.Ranks == 1) {
		host = "127.0.0.1"
	}
	r.master("MASTER_ADDR", host, r.peek("MASTER_PORT"))
}

// slurmSteps is the first number that Slurm gives to no step of srun but to batch scripts, interactive shells and the like
// (SLURM_MAX_NORMAL_STEP_ID of slurm.h). Those have SLURM_PROCID 0 and the tasks of the whole job, but are no ranks.
const slurmSteps = 0xfffffff0

// readSlurm reads the variables of a step of srun. Rank 0 is on the first node of the step; ports are spread by job, as nodes may be
// shared. MASTER_ADDR and MASTER_PORT change that.
func readSlurm(r *reading) {
	step, err := strconv.ParseUint(r.peek("SLURM_STEP_ID"), 10, 32)
	if err != nil || step >= slurmSteps {
		return
	}
	size := "SLURM_STEP_NUM_TASKS" // with --preserve-env SLURM_NTASKS is of the job
	if r.peek(size) == "" {
		size = "SLURM_NTASKS"
	}
	r.ask("SLURM_STEP_ID")
	r.rank("SLURM_PROCID", r.need("SLURM_PROCID"), size, r.need(size))
	r.local(r.peek("SLURM_LOCALID"), tasksOn(r.peek("SLURM_STEP_TASKS_PER_NODE"), r.peek("SLURM_NODEID")))
	port := r.peek("MASTER_PORT")
	if port == "" {
		port = slurmPort(r)
	}
	if host := r.peek("MASTER_ADDR"); host != "" {
		r.master("MASTER_ADDR", host, port)
		return
	}
	if text := r.need("SLURM_STEP_NODELIST"); text != "" {
		nodes, err := ParseNodes(text)
		if err != nil {
			r.fail(fmt.Errorf("SLURM_STEP_NODELIST: %w; or set MASTER_ADDR to the machine of rank 0", err))
			return
		}
		r.master("SLURM_STEP_NODELIST", nodes.Host(0), port)
	}
}

// Jobs of Slurm have ports of their own, below 32768, from which on Linux takes the ports of those who dial.
const slurmPorts, slurmPortCount = 20000, 12000

// slurmPort returns the port of a job.
func slurmPort(r *reading) string {
	text := r.need("SLURM_JOB_ID")
	if text == "" {
		return ""
	}
	job, err := strconv.ParseUint(text, 10, 64)
	if err != nil {
		r.fail(fmt.Errorf("SLURM_JOB_ID=%q is no number of a job", text))
	}
	return strconv.FormatUint(slurmPorts+job%slurmPortCount, 10)
}

// tasksOn returns how many tasks a list such as `2(x3),1` gives to a node, "" if it does not say.
func tasksOn(list, node string) string {
	at, err := strconv.ParseUint(node, 10, 31)
	if err != nil {
		return ""
	}
	for item := range strings.SplitSeq(list, ",") {
		tasks, times, repeated := strings.Cut(item, "(x")
		n := uint64(1)
		if repeated {
			if n, err = strconv.ParseUint(strings.TrimSuffix(times, ")"), 10, 31); err != nil {
				return ""
			}
		}
		if at < n {
			return tasks
		}
		at -= n
	}
	return ""
}

// readKubernetes reads the index of an indexed job's pod. The index alone says nothing of other ranks: each pod may be a run.
func readKubernetes(r *reading) {
	if r.peek("JOB_COMPLETION_INDEX") == "" || r.peek("WORLD_SIZE") == "" && r.peek("MASTER_ADDR") == "" {
		return
	}
	r.rank("JOB_COMPLETION_INDEX", r.need("JOB_COMPLETION_INDEX"), "WORLD_SIZE", r.need("WORLD_SIZE"))
	r.master("MASTER_ADDR", r.need("MASTER_ADDR"), r.peek("MASTER_PORT"))
}
