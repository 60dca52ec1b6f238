import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.io.ByteArrayOutputStream;
import java.io.PrintStream;
import java.lang.reflect.InvocationTargetException;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import org.apache.kafka.common.utils.Exit;

/** Kafka's command-line tools by their main classes, one after the other in the same JVM. */
final class Tools {
    /** The tool has called for the end of the process; it may catch this, and call again. */
    private static final class Ended extends RuntimeException {}

    // One stream for all of them: Scala's console keeps the one that it finds first.
    private static final ByteArrayOutputStream SAID = new ByteArrayOutputStream();
    private static final PrintStream OUT = new PrintStream(SAID, true, StandardCharsets.UTF_8);

    private static Integer status;

    private static void end(int with) {
        status = status == null ? Integer.valueOf(with) : status;
        throw new Ended();
    }

    static void run(JsonNode question, ObjectNode answer) throws Exception {
        List<String> arguments = new ArrayList<>();
        question.get("arguments").forEach(argument -> arguments.add(argument.textValue()));
        status = null;
        Exit.setExitProcedure((with, message) -> end(with));
        Exit.setHaltProcedure((with, message) -> end(with));
        PrintStream before = System.out;
        SAID.reset();
        System.setOut(OUT);
        try {
            call(question.get("main").textValue(), arguments);
        } finally {
            System.setOut(before);
        }
        answer.put("status", status == null ? 0 : status);
        answer.put("said", SAID.toString(StandardCharsets.UTF_8));
    }

    private static void call(String main, List<String> arguments) throws Exception {
        try {
            Class.forName(main)
                    .getMethod("main", String[].class)
                    .invoke(null, (Object) arguments.toArray(new String[0]));
        } catch (InvocationTargetException error) {
            if (!(error.getCause() instanceof Ended)) {
                throw error.getCause() instanceof Exception ? (Exception) error.getCause() : error;
            }
        }
    }
}
