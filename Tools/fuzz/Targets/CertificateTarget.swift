import PushTransport

extension FuzzTarget {
    /// PEM, certificates and keys from peers and from configuration files.
    static let certificate = FuzzTarget(
        name: "certificate",
        seeds: {
            let made = FuzzCertificates()
            let pem = Array((made.server.certificatePEM + made.server.privateKeyPEM).utf8)
            let key = made.client.privateKeyPEM.utf8.split(separator: 10).dropFirst().dropLast().joined()
            let der = made.client.certificate.der
            return [
                [0] + pem, [0] + Array(made.authority.privateKeyPEM.utf8), [1] + der, [2, 0] + der,
                [2, 1] + decoded(Array(key)), [3, 4] + [UInt8](repeating: 1, count: 64),
                [0]
                    + Array(
                        "-----BEGIN EC PRIVATE KEY-----\nProc-Type: 4,ENCRYPTED\nDEK-Info: AES-128-CBC,00\n\nAA".utf8),
            ]
        },
        run: { input in
            switch input.byte() & 3 {
            case 0: readPEM(input.rest())
            case 1: if let found = try? CertificateInfo(der: input.rest()) { look(at: found) }
            case 2: readPEM(armoured(&input))
            default:
                if let key = try? ES256PublicKey(point: input.rest()) {
                    _ = key.verify([1], signature: [UInt8](repeating: 1, count: 64))
                }
            }
        })
}

private func readPEM(_ bytes: [UInt8]) {
    let source = PEMSource.bytes(bytes)
    if let found = try? CertificateInfo(pem: source) { look(at: found) }
    // An encrypted PKCS#8 key contains its own iteration count, which may keep one input busy for an hour. Such keys are
    // therefore tried without a password.
    let password = String(decoding: bytes, as: UTF8.self).contains("BEGIN ENCRYPTED") ? nil : "sesame"
    if let identity = try? TLSIdentity(combined: source, password: password) {
        _ = try? TLSContext.server(TLSServerConfiguration(identity: identity))
        _ = try? TLSContext.client(TLSClientConfiguration(trust: .only([source]), identity: identity))
    } else {
        _ = try? TLSContext.client(TLSClientConfiguration(trust: .only([source])))
    }
    if let key = try? ES256PublicKey(pem: source) {
        _ = key.verify(bytes, signature: [UInt8](repeating: 7, count: 64))
        require((try? ES256PublicKey(pem: .text(key.pem))) != nil, "a public key cannot be parsed after it was written")
    }
    if let key = try? ES256PrivateKey(pem: source, password: password), let signature = try? key.sign([1, 2, 3]) {
        require(key.publicKey.verify([1, 2, 3], signature: signature), "a key does not verify what it signed")
    }
}

private func look(at found: CertificateInfo) {
    require(found.subject.utf8.allSatisfy { $0 >= 0x20 }, "a subject contains a control character")
    _ = found.extensionValue(oid: "1.2.840.113635.100.6.3.6")
    _ = found.extensionValue(oid: found.serial)
    if let again = try? CertificateInfo(der: found.der) {
        require(again.fingerprint == found.fingerprint, "the same bytes have two fingerprints")
        require(again.dnsNames == found.dnsNames && again.subject == found.subject, "the same bytes have two meanings")
    } else {
        fatalError("a certificate cannot be parsed from its DER")
    }
    require((try? CertificateInfo(pem: .text(found.pem))) != nil, "a certificate cannot be parsed from its PEM")
    if let key = try? ES256PublicKey(of: found) {
        _ = key.verify([0], signature: [UInt8](repeating: 0, count: 64))
    }
}

/// Returns DER in a PEM block, so that mutations affect the DER and not only the Base64.
private func armoured(_ input: inout FuzzInput) -> [UInt8] {
    let labels = [
        "CERTIFICATE", "PRIVATE KEY", "EC PRIVATE KEY", "PUBLIC KEY", "TRUSTED CERTIFICATE", "RSA PRIVATE KEY",
        "ENCRYPTED PRIVATE KEY", "X509 CERTIFICATE",
    ]
    let label = labels[Int(input.byte()) % labels.count]
    let text = plainBase64(input.rest())
    var lines = "-----BEGIN \(label)-----\n"
    for start in stride(from: 0, to: text.count, by: 64) {
        lines += String(decoding: text[start..<min(text.count, start + 64)], as: UTF8.self) + "\n"
    }
    return Array((lines + "-----END \(label)-----\n").utf8)
}

/// Encodes with the alphabet and the padding of PEM.
private func plainBase64(_ bytes: [UInt8]) -> [UInt8] {
    let text = Base64URL.encode(bytes).utf8.map { digit in
        digit == UInt8(ascii: "-") ? UInt8(ascii: "+") : digit == UInt8(ascii: "_") ? UInt8(ascii: "/") : digit
    }
    return text + [UInt8](repeating: UInt8(ascii: "="), count: (4 - text.count % 4) % 4)
}

private func decoded(_ text: [UInt8]) -> [UInt8] {
    let digits = text.filter { $0 != UInt8(ascii: "=") }.map { digit in
        digit == UInt8(ascii: "+") ? UInt8(ascii: "-") : digit == UInt8(ascii: "/") ? UInt8(ascii: "_") : digit
    }
    return Base64URL.decode(String(decoding: digits, as: UTF8.self)) ?? []
}
