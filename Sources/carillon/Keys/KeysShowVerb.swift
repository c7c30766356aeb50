import APNs
import FoundationEssentials
import PushConfiguration
import PushGateways
import PushLoop
import PushText

/// `carillon keys show`: shows the contents of a key or certificate file, and what to do with it.
struct KeysShowVerb {
    static let verb = Verb(
        name: "keys show", summary: "show the contents of a key or certificate file",
        words: [Word("FILE", about: "a .p8, .p12, .pem or .curve file, or a single certificate")],
        options: [KeysVerb.passwordOption, Option("json", about: "print JSON")],
        examples: [
            ("carillon keys show AuthKey_ABC123DEFG.p8", "show the id and fingerprint of a provider key"),
            (
                "carillon keys show push.p12 --password-file password.txt",
                "show the topics and the expiry of a certificate"
            ),
        ]
    ) { arguments in
        let path = arguments.word("FILE")
        if let facts = try CurveKeyFile.facts(path) {
            Terminal.output.write(
                arguments.has("json")
                    ? CurveKeyDescription.json(facts, of: path) : CurveKeyDescription.text(facts, of: path))
            return .done
        }
        let verb = KeysShowVerb(path: path, file: try KeysVerb.read(path, with: arguments), now: .current())
        Terminal.output.write(arguments.has("json") ? try verb.json() : verb.text())
        return .done
    }

    let path: String
    let file: KeyFile
    let now: WallTime

    private var facts: CredentialFacts? {
        switch file {
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

    private var holds: String {
        switch file {
        case .providerKey: "a provider key (PEM)"
        case .certificate(_, let format): "a certificate with its private key (\(format.rawValue))"
        case .certificateAlone(_, let format):
            isAuthority
                ? "a CA certificate (\(format.rawValue))"
                : "a certificate without a private key (\(format.rawValue))"
        case .keyAlone: "a private key without a certificate (PEM)"
        }
    }

    /// Whether the file contains a CA certificate: self-signed and without topics.
    private var isAuthority: Bool {
        guard case .certificateAlone(let certificate, _) = file else { return false }
        return certificate.info.subject == certificate.info.issuer && certificate.topics.isEmpty
    }

    // MARK: JSON

    private struct Description: Encodable {
        let file: String
        let holds: String
        let format: String
        let keyKind: String?
        let expiresIn: Int64?
        let credential: CredentialFacts?

        enum CodingKeys: String, CodingKey {
            case file, holds, format, credential
            case keyKind = "key_kind"
            case expiresIn = "expires_in_ms"
        }
    }

    func json() throws -> String {
        let (holds, format, kind): (String, KeyFile.Format, String?) =
            switch file {
            case .providerKey: ("provider_key", .pem, facts?.keyKind)
            case .certificate(_, let format): ("certificate_and_key", format, facts?.keyKind)
            case .certificateAlone(_, let format): (isAuthority ? "authority" : "certificate", format, nil)
            case .keyAlone(let kind): ("key", .pem, kind)
            }
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        let data = try encoder.encode(
            Description(
                file: path, holds: holds, format: format.rawValue, keyKind: kind,
                expiresIn: facts?.notAfter.map { $0.milliseconds - now.milliseconds }, credential: facts))
        return String(decoding: data, as: UTF8.self) + "\n"
    }

    // MARK: Text

    func text() -> String {
        let output = Terminal.output
        var rows: [(String, String)] = []
        if let facts {
            if let subject = facts.subject { rows.append(("subject", subject)) }
            if let issuer = facts.issuer, issuer != facts.subject { rows.append(("issuer", issuer)) }
            if let topics = facts.topics {
                rows.append(("topics", topics.isEmpty ? "none: this is not a push certificate" : Self.list(topics)))
            }
            if let environments = facts.environments {
                rows.append(("environments", environments.map(\.rawValue).joined(separator: ", ")))
            }
            if let notBefore = facts.notBefore, notBefore > now {
                rows.append(("valid from", output.colored(notBefore.utcText + ", not yet valid", in: .red)))
            }
            if let notAfter = facts.notAfter { rows.append(("expires", expiry(notAfter))) }
            if facts.kind == .providerKey {
                rows.append(("key id", facts.keyID ?? "unknown: the file name does not contain it"))
                rows.append(("expires", "never, unless it is revoked"))
            }
            if let kind = facts.keyKind { rows.append(("key", kind)) }
            rows.append(("fingerprint", "SHA-256 \(facts.fingerprint)"))
        } else if case .keyAlone(let kind) = file {
            rows.append(("key", kind))
        }
        let lines = PlainText.rows(rows.map { (name: $0.0, text: $0.1) }, on: output)
        return output.colored(path, in: .bold) + " contains \(holds).\n\n" + lines + "\nNext: " + next + "\n"
    }

    private static func list(_ topics: [CertificateTopic]) -> String {
        topics.map { topic in
            let kinds = topic.kinds.map(\.rawValue).joined(separator: ", ")
            return kinds.isEmpty ? topic.name : "\(topic.name) (\(kinds))"
        }.joined(separator: ", ")
    }

    private func expiry(_ end: WallTime) -> String {
        let left = end.seconds - now.seconds
        let text = "\(Self.distance(left)), at \(end.utcText)"
        let color: Terminal.Color = left <= 0 ? .red : left < 30 * 86_400 ? .yellow : .green
        return Terminal.output.colored(text, in: color)
    }

    /// Formats a time relative to now: "in 12 days", "3 hours ago".
    static func distance(_ seconds: Int64) -> String {
        let units: [(Int64, String)] = [(86_400, "day"), (3600, "hour"), (60, "minute"), (1, "second")]
        let length = seconds.magnitude
        let (size, name) = units.first { length >= UInt64(2 * $0.0) } ?? (1, "second")
        let count = length / UInt64(size)
        let words = "\(count) \(name)\(count == 1 ? "" : "s")"
        return seconds > 0 ? "in \(words)" : "\(words) ago"
    }

    private var next: String {
        let name = KeysVerb.quoted(path)
        switch file {
        case .providerKey(_, let keyID):
            return """
                name it in the configuration of an app:
                  credential: { key: \(name), key_id: "\(keyID ?? "…")", team_id: "…" }
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
