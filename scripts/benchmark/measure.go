package benchmark

import (
	"context"
	"runtime"
	"slices"
	"syscall"
	"time"
)

// cost is what one run of an operation costs. The time is the processor's, of all threads and so with garbage
// collection: the wall clock would count whatever else the machine does.
type cost struct{ nanoseconds, bytes, allocations float64 }

// effort is how much work a comparison is.
type effort struct {
	// rounds is how often the operations take turns, slice the processor time that each gets in a turn.
	rounds int
	slice  time.Duration
}

// compare measures operations in turns and returns the median cost of each. The turns are short and many, so that
// whatever else the machine does hits all operations alike; testing.Benchmark would measure one after the other.
func compare(ctx context.Context, e effort, operations ...func() error) ([]cost, error) {
	counts := make([]int, len(operations))
	turns := make([][]cost, len(operations))
	for i, operation := range operations {
		var err error
		if counts[i], err = calibrate(operation, e.slice); err != nil {
			return nil, err
		}
	}
	for round := range e.rounds {
		for at := range operations {
			i := (round + at) % len(operations)
			turn, err := measure(operations[i], counts[i])
			if err != nil {
				return nil, err
			}
			turns[i] = append(turns[i], turn)
		}
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
	}
	return medians(turns), nil
}

func medians(turns [][]cost) []cost {
	costs := make([]cost, 0, len(turns))
	for _, all := range turns {
		costs = append(costs, cost{
			nanoseconds: medianOf(all, func(c cost) float64 { return c.nanoseconds }),
			bytes:       medianOf(all, func(c cost) float64 { return c.bytes }),
			allocations: medianOf(all, func(c cost) float64 { return c.allocations }),
		})
	}
	return costs
}

func medianOf(all []cost, figure func(cost) float64) float64 {
	figures := make([]float64, 0, len(all))
	for _, c := range all {
		figures = append(figures, figure(c))
	}
	return percentile(figures, 50)
}

// calibrate returns how often the operation runs within the time, and warms it up.
func calibrate(operation func() error, within time.Duration) (int, error) {
	for n := 1; ; n *= 2 {
		turn, err := measure(operation, n)
		if err != nil {
			return 0, err
		}
		if used := turn.nanoseconds * float64(n); used >= float64(within)/4 {
			return max(1, int(float64(within)/turn.nanoseconds)), nil
		}
	}
}

// measure runs the operation n times. Garbage of what ran before is cleared away first.
func measure(operation func() error, n int) (cost, error) {
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	began := processorTime()
	for range n {
		if err := operation(); err != nil {
			return cost{}, err
		}
	}
	took := processorTime() - began
	runtime.ReadMemStats(&after)
	return cost{
		nanoseconds: float64(took) / float64(n),
		bytes:       float64(after.TotalAlloc-before.TotalAlloc) / float64(n),
		allocations: float64(after.Mallocs-before.Mallocs) / float64(n),
	}, nil
}

// processorTime is what this process has used of the processors so far.
func processorTime() time.Duration {
	var usage syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &usage); err != nil {
		panic("benchmark: asking for one's own processor time: " + err.Error())
	}
	return time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
}

// percentile returns the nearest-rank percentile; it sorts a copy.
func percentile(figures []float64, p int) float64 {
	sorted := slices.Sorted(slices.Values(figures))
	return sorted[(len(sorted)*p+99)/100-1]
}
