import PushModel
package import PushTransport

/// The topics and environments that a certificate allows, from Apple's extensions. See "Push certificates" in
/// `Documentation/Protocols.md`.
package struct PushCertificate: Sendable {
    package let info: CertificateInfo
    /// The topics in the order of the certificate; only its UID if it has no list; empty if it has neither.
    package let topics: [CertificateTopic]
    /// The environments that the certificate names; both if it names none, as with certificates of private gateways.
    package let environments: [PushEnvironment]

    package init(_ info: CertificateInfo) {
        self.info = info
        var topics: [CertificateTopic] = []
        for (oid, kind) in [(Self.topicsOID, nil), (Self.voipTopicsOID, CertificateTopic.Kind.voip)] {
            if let value = info.extensionValue(oid: oid) {
                for topic in TopicExtension.topics(value, kind: kind) { topics.merge(topic) }
            }
        }
        if topics.isEmpty, let userID = info.userID, !userID.isEmpty {
            topics = [CertificateTopic(name: shown(userID, limit: 255), kinds: [])]
        }
        self.topics = topics
        var environments: [PushEnvironment] = []
        if info.extensionValue(oid: Self.productionOID) != nil { environments.append(.production) }
        if info.extensionValue(oid: Self.developmentOID) != nil { environments.append(.sandbox) }
        self.environments = environments.isEmpty ? PushEnvironment.allCases : environments
    }

    package static let developmentOID = "1.2.840.113635.100.6.3.1"
    package static let productionOID = "1.2.840.113635.100.6.3.2"
    package static let voipTopicsOID = "1.2.840.113635.100.6.3.4"
    package static let topicsOID = "1.2.840.113635.100.6.3.6"

    func covers(_ topic: String) -> Bool {
        topics.contains { $0.name == topic }
    }
}

/// One topic of a certificate, and its kinds.
package struct CertificateTopic: Hashable, Sendable, CustomStringConvertible {
    /// A kind of topic. Apple may add kinds.
    package struct Kind: RawRepresentable, Hashable, Sendable {
        package let rawValue: String

        package init(rawValue: String) {
            self.rawValue = rawValue
        }

        package static let app = Kind(rawValue: "app")
        package static let voip = Kind(rawValue: "voip")
        package static let complication = Kind(rawValue: "complication")
    }

    package let name: String
    package var kinds: [Kind]

    package init(name: String, kinds: [Kind]) {
        self.name = name
        self.kinds = kinds
    }

    package var description: String {
        kinds.isEmpty ? name : "\(name) (\(kinds.map(\.rawValue).joined(separator: ", ")))"
    }
}

extension [CertificateTopic] {
    /// Adds a topic, or adds its kinds to the topic of the same name.
    fileprivate mutating func merge(_ topic: CertificateTopic) {
        guard let index = firstIndex(where: { $0.name == topic.name }) else { return append(topic) }
        for kind in topic.kinds where !self[index].kinds.contains(kind) { self[index].kinds.append(kind) }
    }
}

/// Reads the value of a topic extension: a SEQUENCE of pairs, each a UTF8String topic and a SEQUENCE of UTF8String
/// kinds. Reading ends at the first element of another form, and keeps the topics read so far.
enum TopicExtension {
    /// The maximum number of topics, far above that of real certificates. Further topics are ignored.
    static let maxTopics = 512

    /// - Parameter kind: the kind of all topics, if the extension itself implies it.
    static func topics(_ value: [UInt8], kind: CertificateTopic.Kind?) -> [CertificateTopic] {
        var outer = DERElements(value[...])
        guard var list = outer.next() else { return [] }
        // Some encoders wrap the list in an OCTET STRING.
        if list.tag == DERElements.octetString {
            var wrapped = DERElements(list.content)
            guard let inner = wrapped.next() else { return [] }
            list = inner
        }
        guard list.tag == DERElements.sequence else { return [] }
        var topics: [CertificateTopic] = []
        var elements = DERElements(list.content)
        while topics.count < maxTopics, let element = elements.next() {
            switch element.tag {
            case DERElements.utf8String:
                guard let name = text(element.content) else { return topics }
                topics.append(CertificateTopic(name: name, kinds: kind.map { [$0] } ?? []))
            case DERElements.sequence where !topics.isEmpty:
                var kinds = DERElements(element.content)
                while let one = kinds.next(), one.tag == DERElements.utf8String, let word = text(one.content) {
                    let found = CertificateTopic.Kind(rawValue: word)
                    let last = topics.count - 1
                    if topics[last].kinds.count < 16, !topics[last].kinds.contains(found) {
                        topics[last].kinds.append(found)
                    }
                }
            default:
                return topics
            }
        }
        return topics
    }

    /// Returns the text of a topic or kind: 1 to 255 visible ASCII characters; nil for anything else.
    private static func text(_ bytes: ArraySlice<UInt8>) -> String? {
        guard (1...255).contains(bytes.count), bytes.allSatisfy({ 0x21...0x7e ~= $0 }) else { return nil }
        return String(decoding: bytes, as: UTF8.self)
    }
}

/// The consecutive elements of a DER value, up to the first incomplete one.
private struct DERElements {
    static let octetString: UInt8 = 0x04
    static let utf8String: UInt8 = 0x0c
    static let sequence: UInt8 = 0x30

    private var rest: ArraySlice<UInt8>

    init(_ bytes: ArraySlice<UInt8>) {
        rest = bytes
    }

    mutating func next() -> (tag: UInt8, content: ArraySlice<UInt8>)? {
        var left = rest
        guard let tag = left.popFirst(), let first = left.popFirst() else { return nil }
        var length = Int(first)
        if first >= 0x80 {
            // DER does not allow indefinite lengths, and a length of more than four bytes exceeds any file.
            guard (0x81...0x84).contains(first) else { return nil }
            length = 0
            for _ in 0..<(first & 0x7f) {
                guard let byte = left.popFirst() else { return nil }
                length = length << 8 | Int(byte)
            }
        }
        guard length <= left.count else { return nil }
        let end = left.startIndex + length
        rest = left[end...]
        return (tag, left[..<end])
    }
}
