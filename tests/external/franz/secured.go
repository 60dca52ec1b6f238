package main

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"os"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/sasl"
	"github.com/twmb/franz-go/pkg/sasl/oauth"
	"github.com/twmb/franz-go/pkg/sasl/plain"
	"github.com/twmb/franz-go/pkg/sasl/scram"
)

// A case is one way of proving a name; its topic has the same name.
type way struct {
	Name, Bootstrap, Mechanism, User, Password, Token, Authority, Certificate string
}

// mechanism returns nil where a certificate is the name.
func (it way) mechanism() sasl.Mechanism {
	switch it.Mechanism {
	case "PLAIN":
		return plain.Auth{User: it.User, Pass: it.Password}.AsMechanism()
	case "SCRAM-SHA-256":
		return scram.Auth{User: it.User, Pass: it.Password}.AsSha256Mechanism()
	case "SCRAM-SHA-512":
		return scram.Auth{User: it.User, Pass: it.Password}.AsSha512Mechanism()
	case "OAUTHBEARER":
		return oauth.Auth{Token: it.Token}.AsMechanism()
	}
	return nil
}

func (it way) options() ([]kgo.Opt, error) {
	found := []kgo.Opt{
		kgo.SeedBrokers(it.Bootstrap),
		kgo.AllowAutoTopicCreation(),
		kgo.RequestRetries(3),
		kgo.RecordDeliveryTimeout(10 * time.Second),
	}
	if mechanism := it.mechanism(); mechanism != nil {
		found = append(found, kgo.SASL(mechanism))
	}
	if it.Authority == "" {
		return found, nil
	}
	pem, err := os.ReadFile(it.Authority)
	if err != nil {
		return nil, err
	}
	config := &tls.Config{RootCAs: x509.NewCertPool()}
	config.RootCAs.AppendCertsFromPEM(pem)
	if it.Certificate != "" {
		pair, err := tls.LoadX509KeyPair(it.Certificate, it.Certificate)
		if err != nil {
			return nil, err
		}
		config.Certificates = []tls.Certificate{pair}
	}
	return append(found, kgo.DialTLSConfig(config)), nil
}

// try sends a record and reads it again.
func (it way) try() error {
	options, err := it.options()
	if err != nil {
		return err
	}
	start := kgo.ConsumeResetOffset(kgo.NewOffset().AtStart())
	client, err := kgo.NewClient(append(options, kgo.ConsumeTopics(it.Name), start)...)
	if err != nil {
		return err
	}
	defer client.Close()
	until, cancel := context.WithTimeout(context.Background(), 15*time.Second)
	defer cancel()
	record := &kgo.Record{Topic: it.Name, Value: []byte(it.Name)}
	if err := client.ProduceSync(until, record).FirstErr(); err != nil {
		return err
	}
	for until.Err() == nil {
		for _, found := range client.PollFetches(until).Records() {
			if string(found.Value) == it.Name {
				return nil
			}
		}
	}
	return until.Err()
}

// proveNames tries all cases of a file.
func proveNames(file string) {
	var ways []way
	text, err := os.ReadFile(file)
	if err == nil {
		err = json.Unmarshal(text, &ways)
	}
	if err != nil {
		panic(err)
	}
	for _, it := range ways {
		if err := it.try(); err != nil {
			say("%s failed %v", it.Name, err)
		} else {
			say("%s ok", it.Name)
		}
	}
}
