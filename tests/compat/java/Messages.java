import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.lang.reflect.Method;
import java.nio.ByteBuffer;
import org.apache.kafka.common.message.ApiMessageType;
import org.apache.kafka.common.protocol.ApiMessage;
import org.apache.kafka.common.protocol.ByteBufferAccessor;
import org.apache.kafka.common.protocol.ObjectSerializationCache;

/** Messages and records, through the classes that Kafka generates from its definitions. */
final class Messages {
    private Messages() {}

    /** Every API with its versions, those of its headers, and whether brokers offer it. */
    static void list(ObjectNode answer) {
        ArrayNode apis = answer.putArray("apis");
        for (ApiMessageType api : ApiMessageType.values()) {
            ObjectNode row = apis.addObject();
            row.put("key", api.apiKey()).put("name", api.name);
            row.put("first", api.lowestSupportedVersion());
            row.put("last", api.highestSupportedVersion(true));
            row.put("last_stable", api.highestSupportedVersion(false));
            row.put("with_zookeeper", api.listeners().contains(ApiMessageType.ListenerType.ZK_BROKER));
            ArrayNode requests = row.putArray("request_headers");
            ArrayNode responses = row.putArray("response_headers");
            for (short v = api.lowestSupportedVersion(); v <= api.highestSupportedVersion(true); v++) {
                requests.add(api.requestHeaderVersion(v));
                responses.add(api.responseHeaderVersion(v));
            }
        }
    }

    /** Which versions of a message its class has. */
    static void versions(JsonNode question, ObjectNode answer) throws ReflectiveOperationException {
        ApiMessage message = empty(question);
        answer.put("first", message.lowestSupportedVersion());
        answer.put("last", message.highestSupportedVersion());
    }

    /** Reads a message, says how many bytes it left, and writes it again: as bytes and as JSON. */
    static void reencode(JsonNode question, ObjectNode answer) throws Exception {
        ApiMessage message = empty(question);
        short version = question.get("version").shortValue();
        ByteBuffer input = ByteBuffer.wrap(question.get("bytes").binaryValue());
        message.read(new ByteBufferAccessor(input), version);
        answer.put("left", input.remaining());
        answer.put("bytes", encoded(message, version));
        answer.set("json", asJson(message, version));
    }

    /** Writes a message of which nothing was set. */
    static void encodeDefault(JsonNode question, ObjectNode answer) throws Exception {
        answer.put("bytes", encoded(empty(question), question.get("version").shortValue()));
    }

    private static ApiMessage empty(JsonNode question) throws ReflectiveOperationException {
        String name = question.get("class").textValue();
        return (ApiMessage) Class.forName(name).getConstructor().newInstance();
    }

    private static byte[] encoded(ApiMessage message, short version) {
        ObjectSerializationCache cache = new ObjectSerializationCache();
        ByteBuffer output = ByteBuffer.allocate(message.size(cache, version));
        message.write(new ByteBufferAccessor(output), cache, version);
        if (output.hasRemaining()) {
            throw new IllegalStateException("shorter than its own size");
        }
        return output.array();
    }

    private static JsonNode asJson(ApiMessage message, short version) throws Exception {
        Class<?> converter = Class.forName(message.getClass().getName() + "JsonConverter");
        Method write = converter.getMethod("write", message.getClass(), short.class, boolean.class);
        return (JsonNode) write.invoke(null, message, version, false);
    }
}
