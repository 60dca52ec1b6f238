import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.io.IOException;
import javax.security.auth.x500.X500Principal;
import org.apache.kafka.common.security.ssl.SslPrincipalMapper;

/** The names of certificates as Java writes them, and what Kafka's rules make of names. */
final class Names {
    private Names() {}

    /** Of subjects in DER; null for one that Java does not read. */
    static void write(JsonNode question, ObjectNode answer) throws IOException {
        ArrayNode names = answer.putArray("names");
        for (JsonNode subject : question.get("subjects")) {
            try {
                names.add(new X500Principal(subject.binaryValue()).getName());
            } catch (IllegalArgumentException error) {
                names.addNull();
            }
        }
    }

    /** Null for a name to which no rule applies. */
    static void map(JsonNode question, ObjectNode answer) {
        SslPrincipalMapper mapper = SslPrincipalMapper.fromRules(question.get("rules").textValue());
        ArrayNode mapped = answer.putArray("mapped");
        for (JsonNode name : question.get("names")) {
            try {
                mapped.add(mapper.getName(name.textValue()));
            } catch (IOException error) {
                mapped.addNull();
            }
        }
    }
}
