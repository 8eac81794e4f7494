package rig

import (
	"bufio"
	"bytes"
	"fmt"
	"os"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// Usage is what a process has used between two looks.
type Usage struct {
	Wall    time.Duration `json:"wall"`
	User    time.Duration `json:"user"`
	System  time.Duration `json:"system"`
	Mallocs uint64        `json:"mallocs"`
	Bytes   uint64        `json:"bytes"` // allocated
	GCs     uint32        `json:"gcs"`
}

// CPU is user and system time.
func (u Usage) CPU() time.Duration { return u.User + u.System }

// look is a reading of this process's counters.
func look() (time.Time, Usage) {
	var r syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &r); err != nil {
		panic(fmt.Sprintf("getrusage: %v", err)) // it has no reason to fail
	}
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return time.Now(), Usage{User: time.Duration(r.Utime.Nano()), System: time.Duration(r.Stime.Nano()),
		Mallocs: m.Mallocs, Bytes: m.TotalAlloc, GCs: m.NumGC}
}

// Meter starts measuring this process; the result ends it.
func Meter() func() Usage {
	began, before := look()
	return func() Usage {
		ended, after := look()
		return Usage{Wall: ended.Sub(began), User: after.User - before.User, System: after.System - before.System,
			Mallocs: after.Mallocs - before.Mallocs, Bytes: after.Bytes - before.Bytes, GCs: after.GCs - before.GCs}
	}
}

// CPUOf is what a process has used so far, user and system, to a hundredth of a second. It
// works on Linux only.
func CPUOf(pid int) (time.Duration, error) {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return 0, err
	}
	// After the name in parentheses: state, then 10 numbers, then utime and stime.
	fields := strings.Fields(string(text[bytes.LastIndexByte(text, ')')+1:]))
	const utime, ticksPerSecond = 11, 100
	var ticks int64
	for _, f := range fields[utime : utime+2] {
		n, err := strconv.ParseInt(f, 10, 64)
		if err != nil {
			return 0, fmt.Errorf("/proc/%d/stat: %w", pid, err)
		}
		ticks += n
	}
	return time.Duration(ticks) * time.Second / ticksPerSecond, nil
}

// PeakRSSOf is the most memory in bytes that a process had since its start, or since
// ResetPeakRSS. It works on Linux only.
func PeakRSSOf(pid int) (int64, error) {
	f, err := os.Open(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		return 0, err
	}
	defer f.Close()
	for lines := bufio.NewScanner(f); lines.Scan(); {
		var kb int64
		if rest, ok := strings.CutPrefix(lines.Text(), "VmHWM:"); ok {
			if _, err := fmt.Sscan(rest, &kb); err == nil {
				return kb << 10, nil
			}
		}
	}
	return 0, fmt.Errorf("%s has no VmHWM", f.Name())
}

// ResetPeakRSS begins a process's peak anew at what it has now.
func ResetPeakRSS(pid int) error {
	return os.WriteFile(fmt.Sprintf("/proc/%d/clear_refs", pid), []byte("5"), 0)
}

// peakRSS of this process in bytes. Linux counts into ru_maxrss of a child what its parent
// had at the fork, so VmHWM is asked first.
func peakRSS() int64 {
	if peak, err := PeakRSSOf(os.Getpid()); err == nil {
		return peak
	}
	var r syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &r); err != nil {
		return 0
	}
	if runtime.GOOS == "darwin" {
		return r.Maxrss // bytes there
	}
	return r.Maxrss << 10
}
