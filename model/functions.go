package model

import "math"

// Function returns what a function makes of a number, and its derivative there.
func (n *Node) Function(x float64) (y, dy float64) {
	below := x <= 0
	switch n.Op {
	case ReLU:
		if below {
			return 0, 0
		}
		return x, 1
	case LeakyReLU:
		if below {
			return n.Slope * x, n.Slope
		}
		return x, 1
	case ELU:
		if below {
			return n.Alpha * math.Expm1(x), n.Alpha * math.Exp(x)
		}
		return x, 1
	case Tanh:
		y = math.Tanh(x)
		return y, 1 - y*y
	case GELU:
		phi := (1 + math.Erf(x/math.Sqrt2)) / 2
		return x * phi, phi + x*math.Exp(-x*x/2)/math.Sqrt(2*math.Pi)
	case Sigmoid:
		y = sigmoid(x)
		return y, y * (1 - y)
	case SiLU:
		s := sigmoid(x)
		return x * s, s * (1 + x*(1-s))
	case Softplus:
		return max(x, 0) + math.Log1p(math.Exp(-math.Abs(x))), sigmoid(x)
	case Exp:
		y = math.Exp(x)
		return y, y
	case Log:
		return math.Log(x), 1 / x
	case Sqrt:
		y = math.Sqrt(x)
		return y, 1 / (2 * y)
	case Square:
		return x * x, 2 * x
	case Power:
		if n.Exponent == 0 {
			return 1, 0
		}
		return math.Pow(x, n.Exponent), n.Exponent * math.Pow(x, n.Exponent-1)
	case Clamp:
		if x < n.Low || x > n.High {
			return min(max(x, n.Low), n.High), 0
		}
		return x, 1
	case Stop:
		return x, 0
	}
	panic("model: no function is " + string(n.Op))
}

func sigmoid(x float64) float64 { return 1 / (1 + math.Exp(-x)) }
