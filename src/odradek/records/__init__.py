"""Record batches as Kafka lays them out: headers, records, checksums, compression, old formats."""
