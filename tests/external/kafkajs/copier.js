// Copies a topic into another, in capitals and exactly once, until it is ended. Each third
// transaction is aborted.
//
//	copier.js BOOTSTRAP SOURCE TARGET ID
'use strict'

const { Kafka, logLevel } = require('kafkajs')

const ABORTED_ONE_IN = 3
const AT_A_TIME = 20
const [bootstrap, source, target, id] = process.argv.slice(2)

async function main() {
  const kafka = new Kafka({ clientId: id, brokers: [bootstrap], logLevel: logLevel.ERROR })
  const consumer = kafka.consumer({ groupId: id, sessionTimeout: 6000, readUncommitted: false })
  const producer = kafka.producer({ transactionalId: id, idempotent: true, maxInFlightRequests: 1 })
  await Promise.all([consumer.connect(), producer.connect()])
  await consumer.subscribe({ topics: [source], fromBeginning: true })
  let turn = 0
  await consumer.run({
    autoCommit: false,
    eachBatchAutoResolve: false,
    partitionsConsumedConcurrently: 1,
    eachBatch: async ({ batch, heartbeat, resolveOffset }) => {
      for (let at = 0; at < batch.messages.length; ) {
        const found = batch.messages.slice(at, at + AT_A_TIME)
        const messages = found.map(it => ({
          partition: batch.partition,
          value: it.value.toString().toUpperCase(),
        }))
        const offset = (BigInt(found[found.length - 1].offset) + 1n).toString()
        const transaction = await producer.transaction()
        await transaction.send({ topic: target, messages })
        await transaction.sendOffsets({
          consumerGroupId: id,
          topics: [{ topic: source, partitions: [{ partition: batch.partition, offset }] }],
        })
        turn += 1
        if (turn % ABORTED_ONE_IN === 0) {
          await transaction.abort()
          console.log('aborted')
          continue
        }
        await transaction.commit()
        console.log('committed')
        at += found.length
        resolveOffset(found[found.length - 1].offset)
        await heartbeat()
      }
    },
  })
}

main().catch(error => {
  console.error(error)
  process.exit(1)
})
