//go:build unix

package kvs

import (
	"context"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/credentials"
)

// The parts of a call that are not net/http's, with a value of 1 KiB. Beside the time that passes they report processor
// time, which does not depend on what else the machine does.

var value = map[string]string{"text": strings.Repeat("x", 1013)}

func BenchmarkSigning(b *testing.B) {
	address, err := readEndpoint("notes", "SERVICE", func(string) (string, bool) { return "http://127.0.0.1", true })
	if err != nil {
		b.Fatal(err)
	}
	signer, err := newSigner(b.Context(), address, credentials.NewStaticCredentialsProvider("AKIDEXAMPLE", "secret", ""))
	if err != nil {
		b.Fatal(err)
	}
	encoded, _ := encode(value)
	body, _ := putBody("key", encoded, time.Hour)
	measure(b, func() {
		found, _ := signer.retrieve(b.Context())
		if _, err := signer.request("put", body, found); err != nil {
			b.Fatal(err)
		}
	})
}

func BenchmarkEncoding(b *testing.B) {
	measure(b, func() {
		encoded, _ := encode(value)
		if _, err := putBody("key", encoded, time.Hour); err != nil {
			b.Fatal(err)
		}
	})
}

func BenchmarkDecoding(b *testing.B) {
	answer := []byte(`{"found":true,"value":{"text":"` + value["text"] + `"},"expiresAt":"2099-01-01T00:00:00.000Z"}`)
	measure(b, func() {
		var into struct{ Text string }
		if _, err := readEntry(answer, func(value []byte) error { return decode(value, &into) }); err != nil {
			b.Fatal(err)
		}
	})
}

func BenchmarkDeadlines(b *testing.B) {
	measure(b, func() {
		call, cancelCall := context.WithTimeout(b.Context(), time.Hour)
		_, cancelAttempt := context.WithTimeout(call, time.Hour)
		cancelAttempt()
		cancelCall()
	})
}

func measure(b *testing.B, once func()) {
	b.ReportAllocs()
	var before, after syscall.Rusage
	_ = syscall.Getrusage(syscall.RUSAGE_SELF, &before)
	for b.Loop() {
		once()
	}
	_ = syscall.Getrusage(syscall.RUSAGE_SELF, &after)
	used := after.Utime.Nano() + after.Stime.Nano() - before.Utime.Nano() - before.Stime.Nano()
	b.ReportMetric(float64(used)/float64(b.N), "cpu-ns/op")
}
