package stores

// Parts of the package that tests in package stores_test look at; these read what was written as commands do, through package formats.
var (
	Entries    = entries
	WriteArray = writeArray
)

// MaxMeta is how long meta.json may be.
const MaxMeta = maxMeta
