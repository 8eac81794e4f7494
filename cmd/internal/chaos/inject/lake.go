package inject

// Points of a commit of the lake, which goes table by table. Only processes that keep a lake
// pass them.
const (
	LakeTable    Point = "lake-table"    // before a table of a commit changes; those before it have
	LakeVerdicts Point = "lake-verdicts" // before the last one, by which the commit counts
	LakeAfter    Point = "lake-after"    // the commit counts, nobody was told
)

// LakePoints are all of them.
func LakePoints() []Point { return []Point{LakeTable, LakeVerdicts, LakeAfter} }

// verdicts is the table that a commit of the lake changes last.
const verdicts = "vereditos"

// Lake hears of each table before a commit changes it, and of "" after the last.
func (a *Armed) Lake(table string) {
	switch table {
	case verdicts:
		a.pass(LakeVerdicts)
	case "":
		a.pass(LakeAfter)
	default:
		a.pass(LakeTable)
	}
}
