import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;

/**
 * Answers questions about Kafka's formats with Kafka's own classes, and does with its clients and
 * tools what it is told, one line of JSON each: what is asked comes on the standard input, what is
 * answered leaves on the standard output. Bytes are base64. It ends when its input does.
 */
final class Oracle {
    private static final ObjectMapper JSON = new ObjectMapper();

    public static void main(String[] arguments) throws IOException {
        PrintStream answers = new PrintStream(System.out, false, StandardCharsets.UTF_8);
        System.setOut(System.err); // a library that prints must not spoil an answer
        BufferedReader questions =
                new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        for (String line = questions.readLine(); line != null; line = questions.readLine()) {
            answers.println(JSON.writeValueAsString(answerOrError(JSON.readTree(line))));
            answers.flush();
        }
    }

    private static ObjectNode answerOrError(JsonNode question) {
        ObjectNode answer = JSON.createObjectNode();
        try {
            answer(question, answer);
        } catch (Exception | StackOverflowError error) {
            answer.removeAll();
            answer.put("error", error.toString());
        }
        return answer;
    }

    private static void answer(JsonNode question, ObjectNode answer) throws Exception {
        String what = question.get("ask").textValue();
        switch (what) {
            case "apis" -> Messages.list(answer);
            case "versions" -> Messages.versions(question, answer);
            case "reencode" -> Messages.reencode(question, answer);
            case "default" -> Messages.encodeDefault(question, answer);
            case "build" -> Batches.build(question, answer);
            case "marker" -> Batches.buildMarker(question, answer);
            case "read" -> Batches.read(question, answer);
            case "settings" -> Settings.table(answer);
            case "setting" -> Settings.read(question, answer);
            case "properties" -> Settings.properties(question, answer);
            case "names" -> Names.write(question, answer);
            case "principals" -> Names.map(question, answer);
            case "admin" -> Admin.call(question, answer);
            case "tool" -> Tools.run(question, answer);
            case "produce" -> Clients.produce(question, answer);
            case "consumer" -> Clients.openConsumer(question, answer);
            case "poll" -> Clients.poll(question, answer);
            case "commit" -> Clients.commit(question, answer);
            case "seek" -> Clients.seek(question, answer);
            case "offsets" -> Clients.offsets(question, answer);
            case "close" -> Clients.close(question, answer);
            default -> throw new IllegalArgumentException("no question called " + what);
        }
    }
}
