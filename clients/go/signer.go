package kvs

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	v4 "github.com/aws/aws-sdk-go-v2/aws/signer/v4"
	"github.com/aws/aws-sdk-go-v2/config"
	"github.com/aws/smithy-go"
)

const (
	service   = "execute-api"
	userAgent = "kvs-go/" + Version
)

// signer creates signed requests of a table.
type signer struct {
	address     endpoint
	urls        map[string]url.URL
	credentials aws.CredentialsProvider
	v4          *v4.Signer
}

// newSigner determines the source of credentials without fetching them. Exchanging an identity for credentials also
// needs a region: that of the environment, or else that of the gateway.
func newSigner(ctx context.Context, address endpoint, provider aws.CredentialsProvider) (*signer, error) {
	if provider == nil {
		found, err := config.LoadDefaultConfig(ctx, config.WithDefaultRegion(address.region))
		if err != nil {
			return nil, noCredentials(err)
		}
		provider = found.Credentials
	}
	if _, cached := provider.(*aws.CredentialsCache); !cached {
		provider = aws.NewCredentialsCache(provider)
	}
	urls := map[string]url.URL{}
	for _, operation := range []string{"put", "get", "delete"} {
		target, err := url.Parse(strings.TrimSuffix(address.url.String(), "/") + "/v1/" + operation)
		if err != nil {
			return nil, misconfigured(codeInvalidVariable, "the URL of the gateway cannot take a path")
		}
		urls[operation] = *target
	}
	return &signer{address, urls, provider, v4.NewSigner()}, nil
}

func (s *signer) retrieve(ctx context.Context) (aws.Credentials, *Error) {
	credentials, err := s.credentials.Retrieve(ctx)
	switch {
	case err == nil && isVisible(credentials.AccessKeyID+credentials.SessionToken):
		return credentials, nil
	case err == nil:
		return aws.Credentials{}, unfit()
	case ctx.Err() != nil:
		return aws.Credentials{}, ended(ctx)
	default:
		return aws.Credentials{}, noCredentials(err)
	}
}

// request signs the fields that proxies do not change, and adds the others afterwards.
func (s *signer) request(operation string, body []byte, by aws.Credentials) (*http.Request, *Error) {
	target := s.urls[operation] // a copy: the SDK writes into it
	request := &http.Request{
		Method: http.MethodPost,
		URL:    &target,
		Host:   s.address.url.Host,
		Header: http.Header{
			"Content-Type":        {"application/json"},
			"X-Kvs-Authorization": {"Bearer " + s.address.token()},
		},
	}
	digest := sha256.Sum256(body)
	err := s.v4.SignHTTP(context.Background(), by, request, hex.EncodeToString(digest[:]), service, s.address.region, time.Now())
	if err != nil {
		return nil, noCredentials(err)
	}
	request.Header["Accept-Encoding"] = []string{"identity"}
	request.Header["User-Agent"] = []string{userAgent}
	request.ContentLength = int64(len(body))
	request.Body = io.NopCloser(bytes.NewReader(body))
	return request, nil
}

// unfit is the error for credentials that no header field can carry: net/http would change them, and so break the
// signature.
func unfit() *Error {
	return &Error{
		Code:   codeNoCredentials,
		Detail: "credentials: they contain a space, a line break or another invisible character",
		kind:   ErrNotAuthorized,
	}
}

// noCredentials keeps only the code of the service that refused: other errors of the SDK may quote secrets, such as the
// output of a credential_process.
func noCredentials(err error) *Error {
	detail := "the AWS SDK found none"
	var refused smithy.APIError
	if errors.As(err, &refused) && isVisible(refused.ErrorCode()) {
		detail = "the service that issues them returned " + refused.ErrorCode()
	}
	return &Error{Code: codeNoCredentials, Detail: detail, kind: ErrNotAuthorized}
}
