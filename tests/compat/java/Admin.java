import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.util.List;
import java.util.Map;
import org.apache.kafka.clients.admin.AdminClient;
import org.apache.kafka.clients.admin.AlterConfigOp;
import org.apache.kafka.clients.admin.Config;
import org.apache.kafka.clients.admin.ConfigEntry;
import org.apache.kafka.clients.admin.DescribeClusterResult;
import org.apache.kafka.clients.admin.ListOffsetsResult;
import org.apache.kafka.clients.admin.LogDirDescription;
import org.apache.kafka.clients.admin.NewPartitions;
import org.apache.kafka.clients.admin.NewTopic;
import org.apache.kafka.clients.admin.OffsetSpec;
import org.apache.kafka.clients.admin.ProducerState;
import org.apache.kafka.clients.admin.RecordsToDelete;
import org.apache.kafka.clients.admin.ReplicaInfo;
import org.apache.kafka.clients.admin.TopicDescription;
import org.apache.kafka.common.Node;
import org.apache.kafka.common.TopicCollection;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.config.ConfigResource;

/** Kafka's administrator: each question has one of its own, at the broker that it names. */
final class Admin {
    static void call(JsonNode question, ObjectNode answer) throws Exception {
        Map<String, Object> settings = Map.of("bootstrap.servers", text(question, "bootstrap"));
        try (AdminClient admin = AdminClient.create(settings)) {
            switch (text(question, "call")) {
                case "cluster" -> cluster(admin, answer);
                case "create" -> create(admin, question, answer);
                case "describe" -> describe(admin, question, answer);
                case "grow" -> grow(admin, question);
                case "set" -> set(admin, question, answer);
                case "offsets" -> offsets(admin, question, answer);
                case "trim" -> trim(admin, question, answer);
                case "producers" -> producers(admin, question, answer);
                case "dirs" -> dirs(admin, question, answer);
                case "delete" -> admin.deleteTopics(List.of(text(question, "topic"))).all().get();
                default -> throw new IllegalArgumentException(text(question, "call"));
            }
        }
    }

    private static void cluster(AdminClient admin, ObjectNode answer) throws Exception {
        DescribeClusterResult found = admin.describeCluster();
        answer.put("id", found.clusterId().get());
        answer.put("controller", found.controller().get().id());
        ArrayNode nodes = answer.putArray("nodes");
        for (Node node : found.nodes().get()) {
            nodes.add(node.host() + ":" + node.port());
        }
    }

    private static void create(AdminClient admin, JsonNode question, ObjectNode answer)
            throws Exception {
        NewTopic topic = new NewTopic(text(question, "topic"), 2, (short) 1);
        topic.configs(Map.of("retention.ms", "60000"));
        var made = admin.createTopics(List.of(topic));
        answer.put("partitions", made.numPartitions(topic.name()).get());
        answer.put("replicas", made.replicationFactor(topic.name()).get());
        answer.put("id", made.topicId(topic.name()).get().toString());
    }

    private static void describe(AdminClient admin, JsonNode question, ObjectNode answer)
            throws Exception {
        String name = text(question, "topic");
        TopicDescription by = admin.describeTopics(List.of(name)).allTopicNames().get().get(name);
        TopicCollection ids = TopicCollection.ofTopicIds(List.of(by.topicId()));
        TopicDescription again = admin.describeTopics(ids).allTopicIds().get().get(by.topicId());
        answer.put("id", by.topicId().toString());
        answer.put("name", again.name());
        answer.put("partitions", by.partitions().size());
        answer.put("leader", by.partitions().get(0).leader().id());
        answer.put("isr", by.partitions().get(0).isr().size());
        answer.put("listed", admin.listTopics().names().get().contains(name));
    }

    private static void grow(AdminClient admin, JsonNode question) throws Exception {
        int count = question.get("count").intValue();
        admin.createPartitions(Map.of(text(question, "topic"), NewPartitions.increaseTo(count)))
                .all()
                .get();
    }

    private static void set(AdminClient admin, JsonNode question, ObjectNode answer)
            throws Exception {
        ConfigResource topic =
                new ConfigResource(ConfigResource.Type.TOPIC, text(question, "topic"));
        ConfigEntry entry = new ConfigEntry(text(question, "setting"), text(question, "value"));
        AlterConfigOp.OpType how = AlterConfigOp.OpType.valueOf(text(question, "how"));
        admin.incrementalAlterConfigs(Map.of(topic, List.of(new AlterConfigOp(entry, how))))
                .all()
                .get();
        Config found = admin.describeConfigs(List.of(topic)).all().get().get(topic);
        ConfigEntry now = found.get(text(question, "setting"));
        answer.put("value", now.value());
        answer.put("source", now.source().toString());
    }

    private static void offsets(AdminClient admin, JsonNode question, ObjectNode answer)
            throws Exception {
        TopicPartition about = new TopicPartition(text(question, "topic"), 0);
        Map<String, OffsetSpec> asked =
                Map.of(
                        "earliest", OffsetSpec.earliest(),
                        "latest", OffsetSpec.latest(),
                        "newest", OffsetSpec.maxTimestamp(),
                        "later", OffsetSpec.forTimestamp(question.get("time").longValue()));
        for (Map.Entry<String, OffsetSpec> one : asked.entrySet()) {
            ListOffsetsResult found = admin.listOffsets(Map.of(about, one.getValue()));
            answer.put(one.getKey(), found.partitionResult(about).get().offset());
        }
    }

    private static void trim(AdminClient admin, JsonNode question, ObjectNode answer)
            throws Exception {
        TopicPartition about = new TopicPartition(text(question, "topic"), 0);
        RecordsToDelete before = RecordsToDelete.beforeOffset(question.get("offset").longValue());
        var deleted = admin.deleteRecords(Map.of(about, before)).lowWatermarks().get(about);
        answer.put("start", deleted.get().lowWatermark());
    }

    private static void producers(AdminClient admin, JsonNode question, ObjectNode answer)
            throws Exception {
        TopicPartition about = new TopicPartition(text(question, "topic"), 0);
        ArrayNode sequences = answer.putArray("last");
        for (ProducerState one :
                admin.describeProducers(List.of(about))
                        .partitionResult(about)
                        .get()
                        .activeProducers()) {
            sequences.add(one.lastSequence());
        }
    }

    private static void dirs(AdminClient admin, JsonNode question, ObjectNode answer)
            throws Exception {
        String topic = text(question, "topic");
        Map<String, LogDirDescription> found =
                admin.describeLogDirs(List.of(1)).allDescriptions().get().get(1);
        answer.put("dirs", found.size());
        ArrayNode sizes = answer.putArray("sizes");
        for (LogDirDescription dir : found.values()) {
            for (Map.Entry<TopicPartition, ReplicaInfo> one : dir.replicaInfos().entrySet()) {
                if (one.getKey().topic().equals(topic)) {
                    sizes.add(one.getValue().size());
                }
            }
        }
    }

    private static String text(JsonNode question, String name) {
        return question.get(name).textValue();
    }
}
