// Package ranks starts the processes of a run over several machines, keeps the secret with which they join, and lets them agree.
//
// A rank is one process of a run. Its nouns: a Launch starts the ranks, here or by ssh, passes their lines on and says how the run
// ended; Failed is the fault that counts; a secret is what ranks need to join; Settings say where a process stands among them; Members
// are the ranks that have joined, as one of them sees the others.
//
// # Contract
//
// A Launch tells each rank its place by the variables of torchrun (package cluster reads them) and gives it the secret without
// showing it in a list of processes. Of what ranks print only whole lines are passed on, each with the rank and its host in
// front; the standard output of rank 0 can be passed on as it is. The first signal is passed on to the ranks, the second one kills
// them. No rank outlives the launcher: on Linux the system kills those of this machine with it, those of other machines end when their
// connection does.
//
// Ranks that join agree in version and options (Compare). All of them call the methods of Members in the same order, and Agree behind each
// step that may fail at one of them: then all go on, or all end with one line and one exit code. Whoever is interrupted ends all.
//
// The rules of secrets, places, node lists and joining are in package cluster; here is what needs files, processes and the environment.
// Begin with launch.go, for a rank with members.go.
//
//	hosts, err := ranks.Hosts(4, "a,b")
//	l := ranks.Launch{Program: program, Args: args, Hosts: hosts, Secret: ranks.NewSecret(), Remote: ranks.SSH{}, Out: os.Stdout, Err: os.Stderr, Signals: signals}
//	err = l.CheckPrograms(ctx, term.ReadBuildInfo())
//	err = l.Run() // *Failed: what the first rank that failed by itself said, and its exit code
//
//	s, err := ranks.FromContext(c)
//	m, err := ranks.Join(ctx, console, s, cluster.Facts{Options: options})
//	defer m.Close()
//	err = m.Agree(ctx, load())
package ranks
