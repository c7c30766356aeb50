package import PushModel
package import PushTransport

/// What a certificate entitles to push, as Apple's extensions say it (PROTOCOLS A10).
package struct PushCertificate: Sendable {
    package let info: CertificateInfo
    /// What it may push to, in the order of the certificate; its UID alone if it lists none; empty if it has neither.
    package let topics: [CertificateTopic]
    /// Those it says it is for; both if it says nothing, as certificates of private gateways do.
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

/// One topic of a certificate, and what for.
package struct CertificateTopic: Hashable, Sendable, Encodable {
    /// The set is Apple's and open.
    package struct Kind: RawRepresentable, Hashable, Sendable, Encodable {
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
}

extension [CertificateTopic] {
    /// Each name once, with all its kinds.
    fileprivate mutating func merge(_ topic: CertificateTopic) {
        guard let place = firstIndex(where: { $0.name == topic.name }) else { return append(topic) }
        for kind in topic.kinds where !self[place].kinds.contains(kind) { self[place].kinds.append(kind) }
    }
}

/// Reads the value of a topic extension: SEQUENCE of pairs UTF8String topic, SEQUENCE { UTF8String kind … }. What is not
/// of this form ends the list; nothing is made up.
enum TopicExtension {
    /// More than any certificate lists: what follows is left out.
    static let longestList = 512

    /// `kind`: what all of them are, where the extension itself says so.
    static func topics(_ value: [UInt8], kind: CertificateTopic.Kind?) -> [CertificateTopic] {
        var outer = DERElements(value[...])
        guard var list = outer.next() else { return [] }
        // Some encoders wrap the list once more.
        if list.tag == DERElements.octetString {
            var wrapped = DERElements(list.content)
            guard let inner = wrapped.next() else { return [] }
            list = inner
        }
        guard list.tag == DERElements.sequence else { return [] }
        var topics: [CertificateTopic] = []
        var elements = DERElements(list.content)
        while topics.count < longestList, let element = elements.next() {
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

    /// A name as bundle ids and kinds are: 1 to 255 visible characters of ASCII.
    private static func text(_ bytes: ArraySlice<UInt8>) -> String? {
        guard (1...255).contains(bytes.count), bytes.allSatisfy({ 0x21...0x7e ~= $0 }) else { return nil }
        return String(decoding: bytes, as: UTF8.self)
    }
}

/// The elements that follow each other in some DER, as far as they are whole.
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
            // Indefinite lengths are not DER; four bytes of length are more than a file may have.
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
