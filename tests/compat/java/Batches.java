import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.List;
import org.apache.kafka.common.compress.Compression;
import org.apache.kafka.common.header.Header;
import org.apache.kafka.common.header.internals.RecordHeader;
import org.apache.kafka.common.record.ControlRecordType;
import org.apache.kafka.common.record.EndTransactionMarker;
import org.apache.kafka.common.record.MemoryRecords;
import org.apache.kafka.common.record.MemoryRecordsBuilder;
import org.apache.kafka.common.record.MutableRecordBatch;
import org.apache.kafka.common.record.Record;
import org.apache.kafka.common.record.RecordBatch;
import org.apache.kafka.common.record.TimestampType;
import org.apache.kafka.common.utils.ByteBufferOutputStream;
import org.apache.kafka.common.utils.Utils;

/** Record batches and the message sets before them, through the classes of Kafka's clients. */
final class Batches {
    private Batches() {}

    /** One batch of the given records; magic 0 and 1 without compression give a row of messages. */
    static void build(JsonNode question, ObjectNode answer) throws IOException {
        try (MemoryRecordsBuilder builder = builder(question)) {
            for (JsonNode record : question.get("records")) {
                builder.appendWithOffset(
                        record.get("offset").longValue(),
                        record.get("timestamp").longValue(),
                        record.get("key").binaryValue(),
                        record.get("value").binaryValue(),
                        headers(record.get("headers")));
            }
            MemoryRecords records = builder.build();
            if (question.hasNonNull("append_time")) {
                stamp(records, question.get("append_time").longValue());
            }
            answer.put("bytes", bytes(records));
        }
    }

    /** The control batch that ends a transaction. */
    static void buildMarker(JsonNode question, ObjectNode answer) {
        boolean commit = question.get("commit").booleanValue();
        MemoryRecords marker =
                MemoryRecords.withEndTransactionMarker(
                        question.get("base_offset").longValue(),
                        question.get("timestamp").longValue(),
                        question.get("leader_epoch").intValue(),
                        question.get("producer_id").longValue(),
                        question.get("producer_epoch").shortValue(),
                        new EndTransactionMarker(
                                commit ? ControlRecordType.COMMIT : ControlRecordType.ABORT,
                                question.get("coordinator_epoch").intValue()));
        answer.put("bytes", bytes(marker));
    }

    /** Every batch, checked as a consumer checks it, with every record in it. */
    static void read(JsonNode question, ObjectNode answer) throws IOException {
        ByteBuffer input = ByteBuffer.wrap(question.get("bytes").binaryValue());
        MemoryRecords records = MemoryRecords.readableRecords(input);
        answer.put("valid_bytes", records.validBytes());
        ArrayNode batches = answer.putArray("batches");
        for (MutableRecordBatch batch : records.batches()) {
            batch.ensureValid();
            describe(batch, batches.addObject());
        }
    }

    private static MemoryRecordsBuilder builder(JsonNode question) {
        return new MemoryRecordsBuilder(
                new ByteBufferOutputStream(1024),
                (byte) question.get("magic").intValue(),
                Compression.of(question.get("codec").textValue()).build(),
                TimestampType.CREATE_TIME,
                question.get("base_offset").longValue(),
                RecordBatch.NO_TIMESTAMP,
                question.get("producer_id").longValue(),
                question.get("producer_epoch").shortValue(),
                question.get("base_sequence").intValue(),
                question.get("transactional").booleanValue(),
                false,
                question.get("leader_epoch").intValue(),
                Integer.MAX_VALUE);
    }

    /** As a broker sets its own time: over the batch, without touching what is inside. */
    private static void stamp(MemoryRecords records, long time) {
        for (MutableRecordBatch batch : records.batches()) {
            batch.setMaxTimestamp(TimestampType.LOG_APPEND_TIME, time);
        }
    }

    private static Header[] headers(JsonNode pairs) throws IOException {
        List<Header> headers = new ArrayList<>();
        for (JsonNode pair : pairs) {
            headers.add(new RecordHeader(pair.get(0).textValue(), pair.get(1).binaryValue()));
        }
        return headers.toArray(new Header[0]);
    }

    private static void describe(MutableRecordBatch batch, ObjectNode row) {
        row.put("magic", batch.magic()).put("codec", batch.compressionType().name);
        row.put("timestamp_type", batch.timestampType().name);
        row.put("base_offset", batch.baseOffset()).put("last_offset", batch.lastOffset());
        row.put("max_timestamp", batch.maxTimestamp()).put("size", batch.sizeInBytes());
        row.put("producer_id", batch.producerId()).put("producer_epoch", batch.producerEpoch());
        row.put("base_sequence", batch.baseSequence());
        row.put("leader_epoch", batch.partitionLeaderEpoch());
        row.put("transactional", batch.isTransactional()).put("control", batch.isControlBatch());
        ArrayNode records = row.putArray("records");
        for (Record record : batch) {
            record.ensureValid();
            describe(record, records.addObject());
        }
    }

    private static void describe(Record record, ObjectNode row) {
        row.put("offset", record.offset()).put("timestamp", record.timestamp());
        row.put("key", Utils.toNullableArray(record.key()));
        row.put("value", Utils.toNullableArray(record.value()));
        ArrayNode headers = row.putArray("headers");
        for (Header header : record.headers()) {
            headers.addArray().add(header.key()).add(header.value());
        }
    }

    private static byte[] bytes(MemoryRecords records) {
        return Utils.toArray(records.buffer());
    }
}
