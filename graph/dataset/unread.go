package dataset

// What a file looks like by its name.
const (
	LooksFeatures = "features"
	LooksLabels   = "labels"
	LooksSplit    = "split"
	LooksWeights  = "edge weights"
	LooksData     = "data" // none of these, but no text for people either
)

// Unread is a file in the folder of a data set of which nothing was read.
type Unread struct {
	Name  string `json:"name"`
	Looks string `json:"looks_like"` // LooksFeatures, LooksLabels, LooksSplit, LooksWeights or LooksData
}
