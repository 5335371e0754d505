// Package ranks starts the processes of a run over several machines, keeps the secret with which they join, and compares them then.
//
// A rank is one process of a run. Its nouns: a Launch starts the ranks, here or by ssh, passes their lines on and says how the run
// ended; Failed is the fault that counts; a secret is what ranks need to join; Compare says whether those that join agree.
//
// # Contract
//
// A Launch tells each rank its place by the variables of torchrun (package cluster reads them) and gives it the secret without
// showing it in a list of processes. Of what ranks print only whole lines are passed on, each with the rank and its host in
// front. The first signal is passed on to the ranks, the second one kills them. No rank outlives the launcher: on Linux the system
// kills those of this machine with it, those of other machines end when their connection does.
//
// The rules of secrets, places, node lists and joining are in package cluster; here is what needs files, processes and the environment.
// Begin with launch.go.
//
//	hosts, err := ranks.Hosts(4, "a,b")
//	l := ranks.Launch{Program: program, Args: args, Hosts: hosts, Secret: ranks.NewSecret(), Remote: ranks.SSH{}, Out: os.Stdout, Err: os.Stderr, Signals: signals}
//	err = l.CheckPrograms(ctx, term.ReadBuildInfo())
//	err = l.Run() // *Failed: what the first rank that failed by itself said, and its exit code
package ranks
