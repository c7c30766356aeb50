import PushModel

/// The value of `apns-topic`: the bundle id and the suffix of the push type (Documentation/Protocols.md, "A5. Push
/// types").
package struct Topic: Hashable, Sendable, CustomStringConvertible {
    package let text: String

    package init(_ id: BundleID, for pushType: PushType) {
        text = pushType.topic(of: id.text)
    }

    /// The suffixes of all push types that have one.
    package static let suffixes = PushType.allCases.map(\.topicSuffix).filter { !$0.isEmpty }

    /// Whether notifications of that type may be sent to a topic. Types without a suffix do not fit topics with the
    /// suffix of another type.
    package static func isValid(_ topic: String, for pushType: PushType) -> Bool {
        let suffix = pushType.topicSuffix
        if !suffix.isEmpty { return topic.hasSuffix(suffix) && topic.utf8.count > suffix.utf8.count }
        return !topic.isEmpty && (pushType == .mdm || !suffixes.contains { topic.hasSuffix($0) })
    }

    package var description: String { text }
}
