// Command driver makes the calls of the shared scenarios: one JSON object per line on standard input, one on standard
// output; clients/scenarios.yaml has the protocol.
package main

import (
	"bufio"
	"context"
	"encoding/json"
	"log"
	"os"
	"sync"
	"time"
)

const longestLine = 64 << 20

// line is a request; its fields depend on the operation.
type line struct {
	ID          json.RawMessage    `json:"id"`
	Op          string             `json:"op"`
	Table       string             `json:"table"`
	Environment map[string]*string `json:"environment"`
	Options     map[string]any     `json:"options"`
	Key         string             `json:"key"`
	Value       any                `json:"value"`
	Raw         []byte             `json:"raw_base64"`
	TTL         float64            `json:"ttl_seconds"`
	Make        any                `json:"make"`
	Target      json.RawMessage    `json:"target"`
	Deadline    float64            `json:"deadline_seconds"`
	Prefix      string             `json:"prefix"`
}

// answered is a line of the output.
type answered struct {
	ID      json.RawMessage `json:"id"`
	Result  any             `json:"result"`
	Error   *errorFields    `json:"error,omitempty"`
	Seconds float64         `json:"seconds"`
}

// driver is the state that operations share.
type driver struct {
	session
	output  sync.Mutex
	mutex   sync.Mutex
	running map[string]context.CancelFunc
}

func main() {
	driver := &driver{running: map[string]context.CancelFunc{}}
	lines := bufio.NewScanner(os.Stdin)
	lines.Buffer(nil, longestLine)
	var running sync.WaitGroup
	for lines.Scan() {
		var asked line
		if err := json.Unmarshal(lines.Bytes(), &asked); err != nil {
			log.Fatal(err)
		}
		ctx := driver.begin(asked)
		if asked.Op == "open" || asked.Op == "close" {
			driver.answer(ctx, asked)
			continue
		}
		running.Go(func() { driver.answer(ctx, asked) })
	}
	running.Wait()
	if err := lines.Err(); err != nil {
		log.Fatal(err)
	}
}

// begin registers an operation, so that the next line can cancel it.
func (d *driver) begin(asked line) context.Context {
	ctx, cancel := context.WithCancel(context.Background())
	d.mutex.Lock()
	defer d.mutex.Unlock()
	d.running[string(asked.ID)] = cancel
	return ctx
}

func (d *driver) cancel(id json.RawMessage) {
	d.mutex.Lock()
	defer d.mutex.Unlock()
	if cancel, known := d.running[string(id)]; known {
		cancel()
	}
}

func (d *driver) answer(ctx context.Context, asked line) {
	defer d.cancel(asked.ID)
	began := time.Now()
	result, err := d.do(ctx, asked)
	answer := answered{ID: asked.ID, Result: result, Seconds: time.Since(began).Seconds()}
	if err != nil {
		answer.Error = fieldsOf(err)
	}
	d.output.Lock()
	defer d.output.Unlock()
	if err := json.NewEncoder(os.Stdout).Encode(answer); err != nil {
		log.Fatal(err)
	}
}

func (d *driver) do(ctx context.Context, asked line) (any, error) {
	switch asked.Op {
	case "open":
		return nil, d.open(ctx, asked)
	case "close":
		if d.client != nil {
			d.client.Close()
		}
		return nil, nil
	case "cancel":
		d.cancel(asked.Target)
		return nil, nil
	case "made":
		return d.made.Load(), nil
	case "show":
		return d.show(), nil
	default:
		return d.call(ctx, asked)
	}
}
