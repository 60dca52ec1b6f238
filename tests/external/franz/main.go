// A producer and a member of a group by franz-go, for as long as nothing is said on standard input.
//
//	franz BOOTSTRAP TOPIC PARTITIONS GROUP
//	franz copy BOOTSTRAP SOURCE TARGET ID
//	franz secured FILE
//
// Each acknowledged record is a line "sent PARTITION OFFSET VALUE", each one that was read "read
// PARTITION OFFSET VALUE", an error "failed TEXT". Once standard input ends it reads what is left.
package main

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
)

var (
	out  = bufio.NewWriter(os.Stdout)
	lock sync.Mutex
)

func say(format string, about ...any) {
	lock.Lock()
	defer lock.Unlock()
	fmt.Fprintf(out, format+"\n", about...)
	out.Flush()
}

func client(more ...kgo.Opt) *kgo.Client {
	seeds := kgo.SeedBrokers(strings.Split(os.Args[1], ",")...)
	found, err := kgo.NewClient(append(more, seeds, kgo.MetadataMinAge(50*time.Millisecond))...)
	if err != nil {
		panic(err)
	}
	return found
}

// produce returns how many records were acknowledged.
func produce(topic string, partitions int, stop <-chan struct{}) int {
	producer := client(kgo.RecordPartitioner(kgo.ManualPartitioner()), kgo.ProducerLinger(0))
	defer producer.Close()
	acknowledged := 0
	for number := 0; ; number++ {
		select {
		case <-stop:
			if err := producer.Flush(context.Background()); err != nil {
				say("failed %v", err)
			}
			return acknowledged
		case <-time.After(5 * time.Millisecond):
		}
		for partition := 0; partition < partitions; partition++ {
			value := []byte(strconv.Itoa(number))
			record := &kgo.Record{Topic: topic, Partition: int32(partition), Value: value}
			producer.Produce(context.Background(), record, func(it *kgo.Record, err error) {
				if err != nil {
					say("failed %v", err)
					return
				}
				lock.Lock()
				acknowledged++
				lock.Unlock()
				say("sent %d %d %s", it.Partition, it.Offset, it.Value)
			})
		}
	}
}

// consume reads until it has seen as many records as wanted says.
func consume(topic, group string, wanted <-chan int) {
	start := kgo.ConsumeResetOffset(kgo.NewOffset().AtStart())
	consumer := client(kgo.ConsumeTopics(topic), kgo.ConsumerGroup(group), start)
	defer consumer.Close()
	seen, enough := map[string]bool{}, -1
	for enough < 0 || len(seen) < enough {
		select {
		case enough = <-wanted:
		default:
		}
		ctx, cancel := context.WithTimeout(context.Background(), 100*time.Millisecond)
		consumer.PollFetches(ctx).EachRecord(func(it *kgo.Record) {
			seen[fmt.Sprint(it.Partition, it.Offset)] = true
			say("read %d %d %s", it.Partition, it.Offset, it.Value)
		})
		cancel()
	}
}

func main() {
	if os.Args[1] == "copy" {
		copyTopic(os.Args[2], os.Args[3], os.Args[4], os.Args[5])
		return
	}
	if os.Args[1] == "secured" {
		proveNames(os.Args[2])
		return
	}
	partitions, err := strconv.Atoi(os.Args[3])
	if err != nil {
		panic(err)
	}
	stop, wanted, done := make(chan struct{}), make(chan int, 1), make(chan struct{})
	go func() {
		consume(os.Args[2], os.Args[4], wanted)
		close(done)
	}()
	go func() {
		wanted <- produce(os.Args[2], partitions, stop)
	}()
	io.Copy(io.Discard, os.Stdin)
	close(stop)
	<-done
}
