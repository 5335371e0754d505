package term

import "time"

// Began is when the program started.
var Began = time.Now()
