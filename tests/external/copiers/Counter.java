import java.util.Arrays;
import java.util.Map;
import java.util.Properties;
import org.apache.kafka.common.serialization.Serdes;
import org.apache.kafka.streams.KafkaStreams;
import org.apache.kafka.streams.StreamsBuilder;
import org.apache.kafka.streams.kstream.Consumed;
import org.apache.kafka.streams.kstream.Grouped;
import org.apache.kafka.streams.kstream.Produced;

/**
 * Counts the records of a topic by the last letters of their values, by Streams and exactly once,
 * until it is ended. Each record makes one record of its letter and the count.
 *
 * <pre>Counter BOOTSTRAP SOURCE TARGET ID [NAME=VALUE ...]</pre>
 */
final class Counter {
    private Counter() {}

    public static void main(String[] words) {
        Properties settings = new Properties();
        settings.putAll(
                Map.of(
                        "bootstrap.servers", words[0],
                        "application.id", words[3],
                        "processing.guarantee", "exactly_once_v2",
                        "auto.offset.reset", "earliest",
                        "state.dir", System.getProperty("state"),
                        "statestore.cache.max.bytes", "0",
                        "consumer.session.timeout.ms", "6000",
                        "consumer.max.poll.records", "20",
                        "replication.factor", "1"));
        for (String word : Arrays.asList(words).subList(4, words.length)) {
            String[] setting = word.split("=", 2);
            settings.put(setting[0], setting[1]);
        }
        StreamsBuilder builder = new StreamsBuilder();
        builder.stream(words[1], Consumed.with(Serdes.String(), Serdes.String()))
                .groupBy(
                        (key, value) -> value.substring(value.length() - 1),
                        Grouped.with(Serdes.String(), Serdes.String()))
                .count()
                .toStream()
                .to(words[2], Produced.with(Serdes.String(), Serdes.Long()));
        new KafkaStreams(builder.build(), settings).start();
    }
}
