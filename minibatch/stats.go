package minibatch

import (
	"time"

	"capgnn/internal/trainer"
)

// Progress is the state of a run after a step.
type Progress struct {
	Epoch       int           // 0-based
	Step, Steps int           // of the epoch: done, and in all
	Edges       int64         // sampled for the first part in the epoch, since the run was resumed if that was inside it
	Elapsed     time.Duration // since the epoch began, or the run was resumed inside it
	Since       int           // the first step that Edges and Elapsed are of
}

// What every run is told, and what it tells of some steps, of an epoch, of all of them, and in the end.
type (
	Training   = trainer.Training
	Counts     = trainer.Counts
	Rows       = trainer.Rows
	Traffic    = trainer.Traffic
	Times      = trainer.Times
	EpochStats = trainer.EpochStats
	SuperEpoch = trainer.SuperEpoch
	Totals     = trainer.Totals
	Result     = trainer.Result
	Diverged   = trainer.Diverged // which names a step
)
