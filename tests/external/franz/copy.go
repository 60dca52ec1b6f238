package main

import (
	"bytes"
	"context"

	"github.com/twmb/franz-go/pkg/kgo"
)

const abortedOneIn = 3

// copyTopic copies a topic into another, in capitals and exactly once, until the process is ended.
func copyTopic(bootstrap, source, target, id string) {
	session, err := kgo.NewGroupTransactSession(
		kgo.SeedBrokers(bootstrap),
		kgo.TransactionalID(id),
		kgo.ConsumerGroup(id),
		kgo.ConsumeTopics(source),
		kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()),
		kgo.FetchIsolationLevel(kgo.ReadCommitted()),
		kgo.RequireStableFetchOffsets(),
		kgo.RecordPartitioner(kgo.ManualPartitioner()),
	)
	if err != nil {
		panic(err)
	}
	defer session.Close()
	background := context.Background()
	for turn := 1; ; turn++ {
		found := session.PollRecords(background, 20)
		if err := session.Begin(); err != nil {
			panic(err)
		}
		failed := kgo.AbortingFirstErrPromise(session.Client())
		found.EachRecord(func(it *kgo.Record) {
			value := bytes.ToUpper(it.Value)
			copied := &kgo.Record{Topic: target, Partition: it.Partition, Value: value}
			session.Produce(background, copied, failed.Promise())
		})
		commits := failed.Err() == nil && turn%abortedOneIn != 0
		committed, err := session.End(background, kgo.TransactionEndTry(commits))
		if err != nil {
			panic(err)
		}
		if committed {
			say("committed")
		} else {
			say("aborted")
		}
	}
}
