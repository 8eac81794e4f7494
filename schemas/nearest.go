package schemas

import "strings"

// Nearest is the known name that a wrong one was most likely meant to be, without regard
// to case; "" = none is near.
func Nearest(wrong string, known []string) string {
	best, fewest := "", len(wrong)/3+2
	for _, name := range known {
		if d := editDistance(strings.ToLower(wrong), strings.ToLower(name)); d < fewest {
			best, fewest = name, d
		}
	}
	return best
}

// editDistance is the number of bytes to insert, drop or replace to make b of a.
func editDistance(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			cost := diagonal
			if a[i] != b[j] {
				cost++
			}
			diagonal = row[j+1]
			row[j+1] = min(cost, row[j]+1, diagonal+1)
		}
	}
	return row[len(b)]
}
