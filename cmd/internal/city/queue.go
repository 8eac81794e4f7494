package city

import "taximeter/schemas"

// queue orders things by when they are due, then by number, for container/heap. Numbers
// are unique, so the order is total and the city the same every time.
type queue[T queued] []T

type queued interface {
	due() schemas.Millis
	number() uint64
}

func (q queue[T]) Len() int      { return len(q) }
func (q queue[T]) Swap(i, j int) { q[i], q[j] = q[j], q[i] }
func (q *queue[T]) Push(x any)   { *q = append(*q, x.(T)) }

func (q queue[T]) Less(i, j int) bool {
	if a, b := q[i].due(), q[j].due(); a != b {
		return a < b
	}
	return q[i].number() < q[j].number()
}

func (q *queue[T]) Pop() any {
	var none T
	last := len(*q) - 1
	x := (*q)[last]
	(*q)[last] = none
	*q = (*q)[:last]
	return x
}

// nextDue is when the first is due; EndOfTime if there is none.
func (q queue[T]) nextDue() schemas.Millis {
	if len(q) == 0 {
		return schemas.EndOfTime
	}
	return q[0].due()
}
