package gnn

// Activation is the function behind hidden convolutions, and in the dense products of GIN, APPNP and GCNII.
type Activation string

// The activations, with the parameters that torch.nn's have by themselves.
const (
	ReLU      Activation = "relu"
	LeakyReLU Activation = "leaky_relu" // slope 0.01 below 0
	ELU       Activation = "elu"        // e^x - 1 below 0
	Tanh      Activation = "tanh"
)

// Activations lists all activations in the order in which texts name them.
var Activations = []Activation{ReLU, LeakyReLU, ELU, Tanh}
