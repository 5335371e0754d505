// Package lockfile keeps a second process away from what one process is writing.
//
// A lock is a file that its holder has locked with flock(2), and that says who holds it. The system takes the lock from a process
// that ends, however it ends, so what a dead holder has left in the file keeps nobody away. Release removes the file, and so does
// atomicfile.Abandon.
//
// Contract: of several processes that take a lock at once, one gets it; the others wait a second for it, no longer. Locks
// hold between the processes of a machine; between machines where the file system passes them on: NFS does since Linux 2.6.12
// (unless mounted with nolock or local_lock), and gives the lock of a machine that went away back when its lease has run out,
// 90 seconds with a Linux server. Where there are no such locks Take returns ErrUnsupported.
//
//	lock, err := lockfile.Take(filepath.Join(dir, "lock"))
//	var held *lockfile.Held
//	if errors.As(err, &held) {
//		return fmt.Errorf("%s is in use by %v", dir, held.By)
//	}
//	defer lock.Release()
package lockfile
