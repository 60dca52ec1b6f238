// Proves a name in each of the ways that a file has: sends a record and reads it again.
//
//	secured.js FILE
'use strict'

const fs = require('fs')
const { Kafka, logLevel } = require('kafkajs')

const MECHANISMS = {
  PLAIN: it => ({ mechanism: 'plain', username: it.user, password: it.password }),
  'SCRAM-SHA-256': it => ({ mechanism: 'scram-sha-256', username: it.user, password: it.password }),
  'SCRAM-SHA-512': it => ({ mechanism: 'scram-sha-512', username: it.user, password: it.password }),
  OAUTHBEARER: it => ({
    mechanism: 'oauthbearer',
    oauthBearerProvider: async () => ({ value: it.token }),
  }),
}

function client(it) {
  const how = { clientId: it.name, brokers: [it.bootstrap], logLevel: logLevel.NOTHING }
  how.retry = { retries: 3, initialRetryTime: 100 }
  if (it.mechanism) {
    how.sasl = MECHANISMS[it.mechanism](it)
  }
  if (it.authority) {
    how.ssl = { ca: [fs.readFileSync(it.authority)] }
  }
  if (it.certificate) {
    how.ssl.cert = how.ssl.key = fs.readFileSync(it.certificate)
  }
  return new Kafka(how)
}

async function prove(it) {
  const kafka = client(it)
  const admin = kafka.admin()
  const producer = kafka.producer()
  const consumer = kafka.consumer({ groupId: it.name, maxWaitTimeInMs: 50 })
  try {
    await admin.connect()
    await admin.createTopics({ topics: [{ topic: it.name }], waitForLeaders: true })
    await producer.connect()
    await producer.send({ topic: it.name, messages: [{ value: it.name }] })
    await consumer.connect()
    await consumer.subscribe({ topics: [it.name], fromBeginning: true })
    const found = await new Promise((resolve, reject) => {
      setTimeout(() => reject(new Error('nothing was read')), 15000).unref()
      consumer.run({ eachMessage: async ({ message }) => resolve(message.value.toString()) })
    })
    return found === it.name ? 'ok' : `failed: ${found} was read`
  } catch (error) {
    return `failed: ${error.message}`
  } finally {
    await Promise.all([admin, producer, consumer].map(each => each.disconnect()))
  }
}

async function main() {
  const ways = JSON.parse(fs.readFileSync(process.argv[2]))
  const said = await Promise.all(ways.map(prove))
  said.forEach((text, at) => console.log(`${ways[at].name} ${text}`))
}

main().catch(error => {
  console.error(error)
  process.exit(1)
})
