package import PushTime
import PushTransport
package import PushWire

extension KeyFile {
    /// Describes the content of the file with that path.
    package func description(of path: String, at now: WallTime) -> CredentialFileDescription {
        var members: [String: JSONValue] = ["holds": .string(holds), "format": .string(format.rawValue)]
        members["key_kind"] = keyKind.map { .string($0) }
        members["expires_in_ms"] = facts?.notAfter.map { .integer($0.milliseconds - now.milliseconds) }
        members["credential"] = facts?.value
        var description = CredentialFileDescription(
            content: "\(content) (\(format.rawValue))", facts: lines,
            next: next(CredentialFileDescription.quoted(path), at: now), members: members)
        // Other services have keys of this kind, too. The name of a file from Apple has the id of the key.
        if case .providerKey(_, let keyID) = self { description.isCertain = keyID != nil }
        return description
    }

    private var format: Format {
        switch self {
        case .providerKey, .keyAlone: .pem
        case .certificate(_, let format), .certificateAlone(_, let format): format
        }
    }

    private var holds: String {
        switch self {
        case .providerKey: "provider_key"
        case .certificate: "certificate_and_key"
        case .certificateAlone: isAuthority ? "authority" : "certificate"
        case .keyAlone: "key"
        }
    }

    private var content: String {
        switch self {
        case .providerKey: "a provider key"
        case .certificate: "a certificate with its private key"
        case .certificateAlone: isAuthority ? "a CA certificate" : "a certificate without a private key"
        case .keyAlone: "a private key without a certificate"
        }
    }

    private var keyKind: String? {
        switch self {
        case .providerKey, .certificate: facts?.keyKind
        case .certificateAlone: nil
        case .keyAlone(let kind): kind
        }
    }

    /// Whether the file contains a CA certificate: self-signed and without topics.
    private var isAuthority: Bool {
        guard case .certificateAlone(let certificate, _) = self else { return false }
        return certificate.info.subject == certificate.info.issuer && certificate.topics.isEmpty
    }

    private var facts: CredentialFacts? {
        switch self {
        case .providerKey(let key, let keyID):
            var facts = CredentialFacts(key.publicKey)
            facts.keyID = keyID
            return facts
        case .certificate(let credential, _): return CredentialFacts(credential)
        case .certificateAlone(let certificate, _):
            var facts = CredentialFacts(certificate)
            // A CA certificate is for trust, so it has no topics and environments.
            if isAuthority { (facts.topics, facts.environments) = (nil, nil) }
            return facts
        case .keyAlone: return nil
        }
    }

    private var lines: [CredentialFileDescription.Fact] {
        guard let facts else { return keyKind.map { [.text("key", $0)] } ?? [] }
        var lines: [CredentialFileDescription.Fact] = []
        if let subject = facts.subject { lines.append(.text("subject", subject)) }
        if let issuer = facts.issuer, issuer != facts.subject { lines.append(.text("issuer", issuer)) }
        if let topics = facts.topics {
            let list = topics.map(\.description).joined(separator: ", ")
            lines.append(.text("topics", topics.isEmpty ? "none: this is not a push certificate" : list))
        }
        if let environments = facts.environments {
            lines.append(.text("environments", environments.map(\.rawValue).joined(separator: ", ")))
        }
        if let notBefore = facts.notBefore { lines.append(.begins(notBefore)) }
        if let notAfter = facts.notAfter { lines.append(.ends(notAfter)) }
        if facts.kind == .providerKey {
            lines.append(.text("key id", facts.keyID ?? "unknown: the file name does not contain it"))
            lines.append(.text("expires", "never, unless it is revoked"))
            lines.append(.text("scope", "not in the file: Apple's page of the keys has its environments and topics"))
        }
        if let kind = facts.keyKind { lines.append(.text("key", kind)) }
        return lines + [.text("fingerprint", "SHA-256 \(facts.fingerprint)")]
    }

    /// - Parameter name: The path in quotes.
    private func next(_ name: String, at now: WallTime) -> String {
        switch self {
        case .providerKey(_, let keyID):
            return """
                name it in the configuration of an app:
                  credential: { key: \(name), key_id: "\(keyID ?? "…")", team_id: "…" }
                If the key is for the whole team, consider one for the topics and the environment of the app alone.
                The team id is on the membership page of Apple's developer site\(keyID == nil ? ", the key id next to the key" : "").
                """
        case .certificate(let credential, let format):
            if now >= credential.certificate.info.notAfter {
                return "create a new certificate on Apple's developer site; this one has expired."
            }
            let password = format == .pkcs12 ? ", password_file: \"…\"" : ""
            return """
                name it in the configuration of an app:
                  credential: { certificate: \(name)\(password) }
                """
        case .certificateAlone where isAuthority:
            return """
                to trust a push service whose certificate this CA issued, such as the
                simulator, name the file in the endpoint of an app:
                  endpoint: { host: "…", port: …, trust: \(name) }
                """
        case .certificateAlone(_, .der):
            return "the private key is missing. Export certificate and key together as .p12 from the keychain."
        case .certificateAlone:
            return """
                the private key is missing. If it is in a separate file, name both files:
                  credential: { certificate: \(name), key: "…" }
                Otherwise export certificate and key together as .p12 from the keychain.
                """
        case .keyAlone:
            return """
                the key cannot sign provider tokens, which need a P-256 key. If it belongs to a
                certificate, name both files in the configuration of an app:
                  credential: { certificate: "…", key: \(name) }
                """
        }
    }
}
