#!/bin/sh
# Makes the certificates of the tests anew: a CA, a broker's, a client's, one of another CA, one for
# another host and an expired one. They are valid for a hundred years, and protect nothing.
set -eu
cd "$(dirname "$0")"
work=$(mktemp -d)
cat > "$work/ca.cnf" <<CONFIG
[ca]
default_ca = own
[own]
database = $work/index
new_certs_dir = $work
rand_serial = yes
default_md = sha256
policy = anything
unique_subject = no
[anything]
countryName = optional
organizationName = optional
organizationalUnitName = optional
commonName = supplied
[root]
basicConstraints = critical,CA:true
CONFIG
touch "$work/index"
new() {
    openssl ecparam -genkey -name prime256v1 -noout | openssl pkcs8 -topk8 -nocrypt > "$work/$1.key"
    openssl req -new -key "$work/$1.key" -subj "$2" -out "$work/$1.csr" 2>/dev/null
}
sign() { # name, authority, extensions, end
    openssl ca -batch -notext -config "$work/ca.cnf" -in "$work/$1.csr" -out "$work/$1.crt" \
        -startdate 20200101000000Z -enddate "$4" $2 $3 2>/dev/null
}
ca() {
    new "$1" "/CN=$2"
    sign "$1" "-selfsign -keyfile $work/$1.key" "-extensions root" 21200101000000Z
    cp "$work/$1.crt" .
}
signed() { # name, subject, authority, extension, end
    new "$1" "$2"
    echo "$4" > "$work/extensions"
    sign "$1" "-cert $work/$3.crt -keyfile $work/$3.key" "-extfile $work/extensions" "$5"
    cat "$work/$1.crt" "$work/$1.key" > "$1.pem"
}
here='subjectAltName=DNS:localhost,IP:127.0.0.1'
end=21200101000000Z
ca trusted 'Test CA'
ca stranger 'Another CA'
signed broker '/C=AT/O=Odradek/OU=Tests/CN=localhost' trusted "$here" $end
signed elsewhere '/CN=elsewhere' trusted 'subjectAltName=DNS:elsewhere' $end
signed client '/O=Odradek, Ltd/OU=Tests/CN=alice' trusted 'keyUsage=digitalSignature' $end
signed impostor '/O=Odradek, Ltd/OU=Tests/CN=alice' stranger 'keyUsage=digitalSignature' $end
signed old '/CN=localhost' trusted "$here" 20210101000000Z
cat "$work/broker.crt" > encrypted.pem
openssl pkcs8 -topk8 -in "$work/broker.key" -passout pass:key-secret >> encrypted.pem
rm -f trusted.jks broker.jks
keytool -importcert -noprompt -alias ca -file trusted.crt -keystore trusted.jks -storetype JKS \
    -storepass trust-secret 2>/dev/null
rm -f trusted.p12
keytool -importcert -noprompt -alias ca -file trusted.crt -keystore trusted.p12 -storetype PKCS12 \
    -storepass trust-secret 2>/dev/null
openssl pkcs12 -export -in broker.pem -name broker -certfile trusted.crt -passout pass:key-secret \
    -out broker.p12
keytool -importkeystore -srckeystore broker.p12 -srcstorepass key-secret -destkeystore broker.jks \
    -deststoretype JKS -deststorepass key-secret 2>/dev/null
rm -r "$work"
