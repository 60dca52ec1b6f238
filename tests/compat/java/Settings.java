import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.io.ByteArrayInputStream;
import java.io.IOException;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Properties;
import java.util.StringJoiner;
import org.apache.kafka.common.config.ConfigDef;
import org.apache.kafka.common.config.ConfigDef.ConfigKey;
import org.apache.kafka.common.config.ConfigException;
import org.apache.kafka.server.config.ConfigSynonym;
import org.apache.kafka.server.config.QuotaConfigs;
import org.apache.kafka.server.config.ServerTopicConfigSynonyms;
import org.apache.kafka.storage.internals.log.LogConfig;

/** Kafka's own table of settings, its way to read a value, and Java's to read a properties file. */
final class Settings {
    private Settings() {}

    /** Every setting that people may use; the last column says how it changes, or what it inherits. */
    static void table(ObjectNode answer) {
        ArrayNode rows = answer.putArray("rows");
        Map<String, String> modes =
                new HashMap<>(kafka.server.DynamicBrokerConfig$.MODULE$.dynamicConfigUpdateModes());
        QuotaConfigs.brokerQuotaConfigs().names().forEach(name -> modes.put(name, "cluster-wide"));
        for (ConfigKey key : brokerKeys().values()) {
            row(rows, "broker", key, modes.getOrDefault(key.name, "read-only"));
        }
        for (ConfigKey key : LogConfig.configKeys().values()) {
            row(rows, "topic", key, inherits(key.name));
        }
    }

    private static void row(ArrayNode rows, String scope, ConfigKey key, String tail) {
        ArrayNode row = rows.addArray().add(scope).add(key.name).add(key.type.name());
        row.add(ConfigDef.convertToString(key.defaultValue, key.type)).add(key.importance.name());
        row.add(tail);
    }

    /** Those of a file, and the quotas, which Kafka only takes at run time. */
    private static Map<String, ConfigKey> brokerKeys() {
        Map<String, ConfigKey> keys =
                new HashMap<>(kafka.server.KafkaConfig.configDef().configKeys());
        keys.putAll(QuotaConfigs.brokerQuotaConfigs().configKeys());
        return keys;
    }

    private static String inherits(String topicSetting) {
        StringJoiner names = new StringJoiner(",");
        for (ConfigSynonym synonym :
                ServerTopicConfigSynonyms.ALL_TOPIC_CONFIG_SYNONYMS.getOrDefault(
                        topicSetting, List.of())) {
            names.add(synonym.name());
        }
        return names.toString();
    }

    /** For each text what Kafka prints of the value that it reads, or null if it refuses. */
    static void read(JsonNode question, ObjectNode answer) {
        String name = question.get("name").textValue();
        ConfigKey key =
                question.get("scope").textValue().equals("topic")
                        ? LogConfig.configKeys().get(name)
                        : brokerKeys().get(name);
        ArrayNode printed = answer.putArray("printed");
        for (JsonNode text : question.get("texts")) {
            printed.add(printed(key, text.textValue()));
        }
    }

    private static String printed(ConfigKey key, String text) {
        try {
            Object value = ConfigDef.parseType(key.name, text, key.type);
            if (key.validator != null) {
                key.validator.ensureValid(key.name, value);
            }
            return ConfigDef.convertToString(value, key.type);
        } catch (ConfigException refused) {
            return null;
        }
    }

    /** The settings of a properties file. */
    static void properties(JsonNode question, ObjectNode answer) throws IOException {
        Properties properties = new Properties();
        properties.load(new ByteArrayInputStream(question.get("bytes").binaryValue()));
        ObjectNode found = answer.putObject("properties");
        properties.forEach((name, value) -> found.put((String) name, (String) value));
    }
}
