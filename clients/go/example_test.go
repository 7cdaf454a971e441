package kvs_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log"
	"time"

	"example.com/kvs"
)

type Greeting struct {
	Text string `json:"text"`
}

func Example() {
	ctx := context.Background()
	notes, err := kvs.FromEnv(ctx, "notes")
	if err != nil {
		log.Fatal(err)
	}
	defer notes.Close()

	if err := notes.Put(ctx, "greeting", Greeting{"hello"}, time.Hour); err != nil {
		log.Fatal(err)
	}
	var greeting Greeting
	entry, err := notes.Get(ctx, "greeting", &greeting)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(entry.Found, greeting.Text, time.Until(entry.ExpiresAt) > 59*time.Minute)
	if err := notes.Delete(ctx, "greeting"); err != nil {
		log.Fatal(err)
	}
	// Output: true hello true
}

func ExampleClient_PutRaw() {
	ctx := context.Background()
	notes, err := kvs.FromEnv(ctx, "notes")
	if err != nil {
		log.Fatal(err)
	}
	defer notes.Close()
	if err := notes.PutRaw(ctx, "prices", []byte(`{"b": 1.50, "a": 123456789012345678901234567890}`), kvs.NoExpiry); err != nil {
		log.Fatal(err)
	}
	entry, err := notes.GetRaw(ctx, "prices")
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(string(entry.Value))
	var prices map[string]json.Number
	if err := json.Unmarshal(entry.Value, &prices); err != nil {
		log.Fatal(err)
	}
	fmt.Println(prices["a"])
	// Output:
	// {"b": 1.50, "a": 123456789012345678901234567890}
	// 123456789012345678901234567890
}

func ExampleGetOrSet() {
	ctx := context.Background()
	notes, err := kvs.FromEnv(ctx, "notes")
	if err != nil {
		log.Fatal(err)
	}
	defer notes.Close()
	for range 2 {
		greeting, err := kvs.GetOrSet(ctx, notes, "made", time.Hour, func(context.Context) (Greeting, error) {
			fmt.Println("made")
			return Greeting{"hello"}, nil
		})
		if err != nil {
			log.Fatal(err)
		}
		fmt.Println(greeting.Text)
	}
	// Output:
	// made
	// hello
	// hello
}

func ExampleClient_WithPrefix() {
	ctx := context.Background()
	users, err := kvs.FromEnv(ctx, "users", kvs.WithPrefix("v2:"))
	if err != nil {
		log.Fatal(err)
	}
	defer users.Close()
	if err := users.WithPrefix("names:").Put(ctx, "1", "Zoë", kvs.NoExpiry); err != nil {
		log.Fatal(err)
	}
	var name string
	entry, err := users.Get(ctx, "names:1", &name)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(entry.Found, name)
	// Output: true Zoë
}

func ExampleError() {
	ctx := context.Background()
	notes, err := kvs.FromEnv(ctx, "notes")
	if err != nil {
		log.Fatal(err)
	}
	defer notes.Close()
	err = notes.Put(ctx, "greeting", "hello", time.Second)
	var failure *kvs.Error
	switch {
	case errors.Is(err, kvs.ErrRateLimited) && errors.As(err, &failure):
		fmt.Println("come back in", failure.RetryAfter)
	case errors.As(err, &failure):
		fmt.Println(failure.Status, failure.Code, failure.Detail)
	}
	// Output: 400 invalid_ttl ttlSeconds: 1, at least 60
}
