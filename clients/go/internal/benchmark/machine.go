package main

import (
	"context"
	"log"
	"os"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"time"

	"example.com/kvs"
)

const waiting = 10_000

// processorTime returns the processor time of this process, in user mode and in the kernel.
func processorTime() time.Duration {
	var usage syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &usage); err != nil {
		log.Fatal(err)
	}
	return time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
}

// waitingFigures are the figures of calls that wait for an answer or for a connection.
type waitingFigures struct {
	Calls    int     `json:"waiting_calls"`
	KiB      float64 `json:"kib_per_call"`
	Resident float64 `json:"resident_mib"`
}

func measureWaiting(url string) waitingFigures {
	operations("client", url+"/silent")
	client, err := kvs.FromEnv(context.Background(), "notes", kvs.WithDeadline(time.Hour), kvs.WithAttempt(time.Hour))
	if err != nil {
		log.Fatal(err)
	}
	before := resident()
	began := make(chan struct{}, waiting)
	for number := range waiting {
		go func() {
			began <- struct{}{}
			_, _ = client.GetRaw(context.Background(), strconv.Itoa(number))
		}()
	}
	for range waiting {
		<-began
	}
	for steady := 0.0; ; time.Sleep(time.Second) { // until the memory no longer grows
		runtime.Gosched()
		now := resident()
		if now-steady < 0.1 {
			return waitingFigures{waiting, (now - before) * 1024 / waiting, now}
		}
		steady = now
	}
}

// resident returns the memory of this process in MiB.
func resident() float64 {
	fields, err := os.ReadFile("/proc/self/statm")
	if err != nil {
		log.Fatal(err)
	}
	pages, err := strconv.Atoi(strings.Fields(string(fields))[1])
	if err != nil {
		log.Fatal(err)
	}
	return float64(pages*os.Getpagesize()) / (1 << 20)
}
