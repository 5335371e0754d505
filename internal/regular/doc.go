// Package regular opens files to read, and only files: no FIFO, device, socket or folder.
//
// Its one noun is NotRegular, the error of a name that leads to something else. Opening a FIFO waits for a writer who may
// never come, and opening a device may do what nobody asked for; so every reader of this program opens through here.
//
// Contract: Open waits for nobody. It follows links; OpenFile does so only to read. What they return was a regular file when it was opened, even if the name
// was given to something else in between.
//
//	f, err := regular.Open(path)
//	if err != nil {
//		return err // *NotRegular, or what os.Open says
//	}
//	defer f.Close()
package regular
