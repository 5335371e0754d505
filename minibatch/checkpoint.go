package minibatch

type saver struct{ *Trainer }

func (s saver) checkpoint() error { return nil }
