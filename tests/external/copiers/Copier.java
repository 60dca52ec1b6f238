import java.time.Duration;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.ConsumerRecords;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.clients.consumer.OffsetAndMetadata;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.serialization.StringDeserializer;
import org.apache.kafka.common.serialization.StringSerializer;

/**
 * Copies a topic into another, in capitals and exactly once, until it is ended. Each third
 * transaction is aborted.
 *
 * <pre>Copier BOOTSTRAP SOURCE TARGET ID</pre>
 */
final class Copier {
    private static final int ABORTED_ONE_IN = 3;

    private Copier() {}

    public static void main(String[] words) {
        String bootstrap = words[0], source = words[1], target = words[2], id = words[3];
        Map<String, Object> reading =
                Map.of(
                        "bootstrap.servers", bootstrap,
                        "group.id", id,
                        "auto.offset.reset", "earliest",
                        "enable.auto.commit", "false",
                        "isolation.level", "read_committed",
                        "session.timeout.ms", "6000",
                        "max.poll.records", "20");
        Map<String, Object> writing =
                Map.of("bootstrap.servers", bootstrap, "transactional.id", id);
        var consumer =
                new KafkaConsumer<>(reading, new StringDeserializer(), new StringDeserializer());
        var producer = new KafkaProducer<>(writing, new StringSerializer(), new StringSerializer());
        producer.initTransactions();
        consumer.subscribe(List.of(source));
        for (int turn = 1; ; ) {
            ConsumerRecords<String, String> found = consumer.poll(Duration.ofMillis(100));
            if (found.isEmpty()) {
                continue;
            }
            Map<TopicPartition, OffsetAndMetadata> positions = new HashMap<>();
            Map<TopicPartition, Long> starts = new HashMap<>();
            producer.beginTransaction();
            for (ConsumerRecord<String, String> it : found) {
                TopicPartition at = new TopicPartition(it.topic(), it.partition());
                starts.putIfAbsent(at, it.offset());
                positions.put(at, new OffsetAndMetadata(it.offset() + 1));
                String value = it.value().toUpperCase();
                producer.send(new ProducerRecord<>(target, it.partition(), null, value));
            }
            producer.sendOffsetsToTransaction(positions, consumer.groupMetadata());
            if (turn++ % ABORTED_ONE_IN == 0) {
                producer.abortTransaction();
                starts.forEach(consumer::seek);
                System.out.println("aborted");
            } else {
                producer.commitTransaction();
                System.out.println("committed");
            }
        }
    }
}
