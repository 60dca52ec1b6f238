import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.Future;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.ConsumerRecords;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.clients.consumer.OffsetAndMetadata;
import org.apache.kafka.clients.consumer.OffsetAndTimestamp;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.clients.producer.RecordMetadata;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.serialization.StringDeserializer;
import org.apache.kafka.common.serialization.StringSerializer;

/** Kafka's producer, and consumers that live from question to question under a name. */
final class Clients {
    private static final Map<String, KafkaConsumer<String, String>> CONSUMERS = new HashMap<>();

    static void produce(JsonNode question, ObjectNode answer) throws Exception {
        StringSerializer texts = new StringSerializer();
        String topic = question.get("topic").textValue();
        try (KafkaProducer<String, String> producer =
                new KafkaProducer<>(settings(question), texts, texts)) {
            List<Future<RecordMetadata>> sent = new ArrayList<>();
            for (JsonNode value : question.get("values")) {
                JsonNode time = question.get("time");
                Long timestamp = time == null ? null : time.longValue() + sent.size();
                sent.add(
                        producer.send(
                                new ProducerRecord<>(topic, 0, timestamp, null, value.textValue())));
            }
            ArrayNode offsets = answer.putArray("offsets");
            for (Future<RecordMetadata> one : sent) {
                offsets.add(one.get().offset());
            }
        }
    }

    static void openConsumer(JsonNode question, ObjectNode answer) {
        StringDeserializer texts = new StringDeserializer();
        KafkaConsumer<String, String> consumer =
                new KafkaConsumer<>(settings(question), texts, texts);
        CONSUMERS.put(question.get("name").textValue(), consumer);
        String topic = question.get("topic").textValue();
        if (question.get("assign").booleanValue()) {
            consumer.assign(List.of(new TopicPartition(topic, 0)));
        } else {
            consumer.subscribe(List.of(topic));
        }
    }

    static void poll(JsonNode question, ObjectNode answer) {
        KafkaConsumer<String, String> consumer = consumer(question);
        ConsumerRecords<String, String> records = consumer.poll(Duration.ofMillis(50));
        ArrayNode values = answer.putArray("values");
        for (ConsumerRecord<String, String> one : records) {
            values.add(one.value());
        }
        ArrayNode assignment = answer.putArray("assignment");
        consumer.assignment().stream()
                .mapToInt(TopicPartition::partition)
                .sorted()
                .forEach(assignment::add);
        answer.put("generation", consumer.groupMetadata().generationId());
    }

    static void commit(JsonNode question, ObjectNode answer) {
        TopicPartition about = new TopicPartition(question.get("topic").textValue(), 0);
        OffsetAndMetadata position =
                new OffsetAndMetadata(question.get("offset").longValue(), "a note");
        consumer(question).commitSync(Map.of(about, position));
        OffsetAndMetadata found = consumer(question).committed(java.util.Set.of(about)).get(about);
        answer.put("offset", found.offset());
        answer.put("metadata", found.metadata());
    }

    static void seek(JsonNode question, ObjectNode answer) {
        TopicPartition about = new TopicPartition(question.get("topic").textValue(), 0);
        consumer(question).seek(about, question.get("offset").longValue());
        answer.put("position", consumer(question).position(about));
    }

    static void offsets(JsonNode question, ObjectNode answer) {
        TopicPartition about = new TopicPartition(question.get("topic").textValue(), 0);
        KafkaConsumer<String, String> consumer = consumer(question);
        answer.put("beginning", consumer.beginningOffsets(List.of(about)).get(about));
        answer.put("end", consumer.endOffsets(List.of(about)).get(about));
        ArrayNode found = answer.putArray("found");
        for (JsonNode time : question.get("times")) {
            OffsetAndTimestamp one =
                    consumer.offsetsForTimes(Map.of(about, time.longValue())).get(about);
            found.add(one == null ? -1 : one.offset());
        }
    }

    /** Leaves its group, unless it is static. */
    static void close(JsonNode question, ObjectNode answer) {
        CONSUMERS.remove(question.get("name").textValue()).close();
    }

    private static KafkaConsumer<String, String> consumer(JsonNode question) {
        return CONSUMERS.get(question.get("name").textValue());
    }

    private static Map<String, Object> settings(JsonNode question) {
        Map<String, Object> settings = new HashMap<>();
        question.get("settings")
                .fields()
                .forEachRemaining(one -> settings.put(one.getKey(), one.getValue().asText()));
        return settings;
    }
}
