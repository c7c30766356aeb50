/// The rights that a client certificate grants ("Establishing a certificate-based connection to APNs").
package struct CertificateIdentity: Equatable, Sendable {
    /// The object identifiers of Apple's certificate extensions.
    package static let developmentExtension = "1.2.840.113635.100.6.3.1"
    package static let productionExtension = "1.2.840.113635.100.6.3.2"
    package static let topicsExtension = "1.2.840.113635.100.6.3.6"
    package static let voipTopicsExtension = "1.2.840.113635.100.6.3.4"

    /// The `UID` of the subject, which is the bundle id.
    package var userID: String
    /// The topics that the certificate allows; only the `userID` if the certificate lists none.
    package var topics: [[UInt8]]
    /// The environments that the certificate names; both if it has neither extension.
    package var environments: Set<APNsEnvironment>

    /// - Parameters:
    /// - topicLists: The values of the topic extensions that the certificate has.
    package init(userID: String, topicLists: [[UInt8]] = [], isDevelopment: Bool = false, isProduction: Bool = false) {
        self.userID = userID
        var topics: [[UInt8]] = []
        for list in topicLists {
            ByteView.lending(list) { bytes in
                for topic in Self.topics(bytes) ?? [] where !topics.contains(topic) { topics.append(topic) }
            }
        }
        self.topics = topics.isEmpty ? [Array(userID.utf8)] : topics
        environments = []
        if isDevelopment { environments.insert(.sandbox) }
        if isProduction { environments.insert(.production) }
        if environments.isEmpty { environments = Set(APNsEnvironment.allCases) }
    }

    /// Returns the names in a topic extension: a SEQUENCE of pairs of UTF8String and SEQUENCE. Some encoders wrap it in
    /// an OCTET STRING.
    private static func topics(_ value: ByteView) -> [[UInt8]]? {
        var outer = DERReader(value)
        guard var list = outer.next() else { return nil }
        if list.tag == 0x04 {
            var wrapped = DERReader(list.content)
            guard let inner = wrapped.next() else { return nil }
            list = inner
        }
        guard list.tag == 0x30 else { return nil }
        var topics: [[UInt8]] = []
        var elements = DERReader(list.content)
        while let element = elements.next() {
            if element.tag == 0x0c { topics.append(element.content.copied()) }
        }
        return topics
    }

    func allows(_ topic: ByteView) -> Bool {
        topics.contains { topic.equals($0) }
    }
}
