package main

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"log"
	"net/http"
	"os"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	v4 "github.com/aws/aws-sdk-go-v2/aws/signer/v4"
	"github.com/aws/aws-sdk-go-v2/config"

	"example.com/kvs"
)

type operation func(ctx context.Context, key string) error

// note is a value of 1 KiB.
type note struct {
	Text string `json:"text"`
}

var kept = note{strings.Repeat("x", 1024-len(`{"text":""}`))}

func operations(how, url string) (put, get operation) {
	for name, value := range map[string]string{
		"SERVICE_KVS_URL": url, "SERVICE_KVS_REGION": "eu-central-1", "SERVICE_KVS_TOKEN_NOTES": "kvs_token",
		"AWS_ACCESS_KEY_ID": "AKIDEXAMPLE", "AWS_SECRET_ACCESS_KEY": "secret",
	} {
		if err := os.Setenv(name, value); err != nil {
			log.Fatal(err)
		}
	}
	if how == "client" {
		return byClient()
	}
	return byHand(url, how == "signed")
}

func byClient() (put, get operation) {
	client, err := kvs.FromEnv(context.Background(), "notes")
	if err != nil {
		log.Fatal(err)
	}
	put = func(ctx context.Context, key string) error { return client.Put(ctx, key, kept, time.Hour) }
	get = func(ctx context.Context, key string) error {
		var into note
		_, err := client.Get(ctx, key, &into)
		return err
	}
	return put, get
}

// byHand is the code that a developer writes without the client: both layers, without retries and typed errors.
func byHand(url string, signed bool) (put, get operation) {
	found, err := config.LoadDefaultConfig(context.Background())
	if err != nil {
		log.Fatal(err)
	}
	transport := http.DefaultTransport.(*http.Transport).Clone()
	transport.MaxIdleConnsPerHost = concurrency
	hand := &hand{url, signed, found.Credentials, v4.NewSigner(), &http.Client{Transport: transport}}
	put = func(ctx context.Context, key string) error {
		return hand.call(ctx, "put", map[string]any{"key": key, "value": kept, "ttlSeconds": 3600}, nil)
	}
	get = func(ctx context.Context, key string) error {
		var answer struct {
			Value note `json:"value"`
		}
		return hand.call(ctx, "get", map[string]any{"key": key}, &answer)
	}
	return put, get
}

type hand struct {
	url         string
	signed      bool
	credentials aws.CredentialsProvider
	signer      *v4.Signer
	client      *http.Client
}

func (h *hand) call(ctx context.Context, operation string, fields, into any) error {
	body, err := json.Marshal(fields)
	if err != nil {
		return err
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, h.url+"/v1/"+operation, bytes.NewReader(body))
	if err != nil {
		return err
	}
	request.Header.Set("Content-Type", "application/json")
	request.Header.Set("X-KVS-Authorization", "Bearer kvs_token")
	if h.signed {
		credentials, err := h.credentials.Retrieve(ctx)
		if err != nil {
			return err
		}
		digest := sha256.Sum256(body)
		err = h.signer.SignHTTP(ctx, credentials, request, hex.EncodeToString(digest[:]), "execute-api", "eu-central-1", time.Now())
		if err != nil {
			return err
		}
	}
	response, err := h.client.Do(request)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusOK {
		return fmt.Errorf("status %d", response.StatusCode)
	}
	answer, err := io.ReadAll(response.Body)
	if err != nil || into == nil {
		return err
	}
	return json.Unmarshal(answer, into)
}
