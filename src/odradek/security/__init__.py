"""Who speaks: mechanisms of SASL, certificates and their names. Bytes in and out, no sockets."""
