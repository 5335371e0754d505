package pipeline

// What a run does to the world besides its result, all of it here: it calls back, and writes checkpoints. Of several processes rank 0 does.

// KeepBest implements fit.Trainer.
func (f *fitter) KeepBest(epoch int) (err error) {
	s, o := &f.t.state, &f.t.o
	if s.best, err = f.t.crew.Weights(f.t.weights); err != nil || o.OnBest == nil || !o.leads() {
		return err
	}
	return o.OnBest(epoch, s.best)
}

// Report implements fit.Trainer.
func (f *fitter) Report(e EpochStats) error {
	if o := &f.t.o; o.OnEpoch != nil && o.leads() {
		return o.OnEpoch(e)
	}
	return nil
}

// Save implements fit.Trainer.
func (f *fitter) Save() error {
	if !f.t.saves {
		return nil
	}
	return saver{f.t}.checkpoint()
}

// SaveNow implements fit.Trainer: rank 0 decides by its time.
func (f *fitter) SaveNow(slow bool) (bool, error) {
	if !f.t.saves {
		return false, nil
	}
	return fromRank0(f.t.hub.Context(), f.t, tagSave, slow)
}
