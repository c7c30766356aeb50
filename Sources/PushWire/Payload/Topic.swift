package import PushModel

/// `apns-topic`: the bundle id and what the push type adds to it (PROTOCOLS A5).
package struct Topic: Hashable, Sendable, CustomStringConvertible {
    package let text: String

    package init(_ id: BundleID, _ pushType: PushType) {
        text = pushType.topic(of: id.text)
    }

    /// Every suffix that a push type has.
    package static let suffixes = PushType.allCases.map(\.topicSuffix).filter { !$0.isEmpty }

    /// Whether notifications of that type may go to a topic. Types without a suffix do not go to one that ends in
    /// another's.
    package static func fits(_ topic: String, _ pushType: PushType) -> Bool {
        let suffix = pushType.topicSuffix
        if !suffix.isEmpty { return topic.hasSuffix(suffix) && topic.utf8.count > suffix.utf8.count }
        return !topic.isEmpty && (pushType == .mdm || !suffixes.contains { topic.hasSuffix($0) })
    }

    package var description: String { text }
}
