import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Properties;
import java.util.concurrent.TimeUnit;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.TopicPartition;

/**
 * Proves a name in each of the ways that a folder has a properties file for: sends a record and
 * reads it again.
 *
 * <p>Arguments: FOLDER.
 */
public class Secured {
    private static final String TEXT = "org.apache.kafka.common.serialization.String";
    private static final Duration SECONDS_MAX = Duration.ofSeconds(15);

    public static void main(String[] arguments) throws Exception {
        try (var files = Files.list(Path.of(arguments[0]))) {
            var threads = files.map(file -> new Thread(() -> tell(file))).toList();
            threads.forEach(Thread::start);
            for (Thread thread : threads) {
                thread.join();
            }
        }
        System.exit(0);
    }

    private static void tell(Path file) {
        String name = file.getFileName().toString();
        String said;
        try {
            said = prove(name, file);
        } catch (Exception error) {
            said = "failed: " + (error.getCause() == null ? error : error.getCause());
        }
        System.out.println(name + " " + said);
    }

    private static String prove(String name, Path file) throws Exception {
        var settings = new Properties();
        try (var reader = Files.newBufferedReader(file)) {
            settings.load(reader);
        }
        for (String of : List.of("key", "value")) {
            settings.put(of + ".serializer", TEXT + "Serializer");
            settings.put(of + ".deserializer", TEXT + "Deserializer");
        }
        settings.putAll(Map.of("max.block.ms", "15000", "auto.offset.reset", "earliest"));
        try (var producer = new KafkaProducer<String, String>(settings)) {
            producer.send(new ProducerRecord<>(name, name)).get(15, TimeUnit.SECONDS);
        }
        try (var consumer = new KafkaConsumer<String, String>(settings)) {
            consumer.assign(List.of(new TopicPartition(name, 0)));
            for (ConsumerRecord<String, String> found : consumer.poll(SECONDS_MAX)) {
                return found.value().equals(name) ? "ok" : "failed: " + found.value();
            }
        }
        return "failed: nothing was read";
    }
}
