// Command benchmark compares the client with calls written by hand: processor time of this process per call, calls per
// second over one pool, memory of waiting calls. The server is a separate process, which checks nothing.
//
//	benchmark serve                 prints its URL
//	benchmark calls HOW URL         HOW is client, signed or bare
//	benchmark waiting URL           10,000 calls that are never answered
package main

import (
	"context"
	"encoding/json"
	"fmt"
	"log"
	"os"
	"sync"
	"sync/atomic"
	"time"
)

const (
	calls       = 40_000
	warmUp      = 4_000
	concurrency = 64
)

func main() {
	log.SetFlags(0)
	switch arguments := os.Args[1:]; {
	case len(arguments) == 1 && arguments[0] == "serve":
		serve()
	case len(arguments) == 3 && arguments[0] == "calls":
		report(measureCalls(arguments[1], arguments[2]))
	case len(arguments) == 2 && arguments[0] == "waiting":
		report(measureWaiting(arguments[1]))
	default:
		log.Fatal("benchmark serve | calls client|signed|bare URL | waiting URL")
	}
}

func report(figures any) {
	if err := json.NewEncoder(os.Stdout).Encode(figures); err != nil {
		log.Fatal(err)
	}
}

// callFigures are the figures of alternating puts and gets of 1 KiB.
type callFigures struct {
	How            string  `json:"how"`
	Microseconds   float64 `json:"cpu_microseconds_per_call"`
	CallsPerSecond float64 `json:"calls_per_second"`
}

func measureCalls(how, url string) callFigures {
	put, get := operations(how, url)
	run := func(calls int64) {
		var begun atomic.Int64
		var workers sync.WaitGroup
		for range concurrency {
			workers.Go(func() {
				for number := begun.Add(1); number <= calls; number = begun.Add(1) {
					operation := put
					if number%2 == 0 {
						operation = get
					}
					if err := operation(context.Background(), fmt.Sprintf("key-%d", number)); err != nil {
						log.Fatal(err)
					}
				}
			})
		}
		workers.Wait()
	}
	run(warmUp)
	began, used := time.Now(), processorTime()
	run(calls)
	elapsed, used := time.Since(began), processorTime()-used
	return callFigures{how, used.Seconds() * 1e6 / calls, calls / elapsed.Seconds()}
}
