package import JSON5

/// A message as the simulated FCM received it.
package struct FCMMessage: Sendable {
    /// The target: a registration token, an installation id, a topic or a condition.
    package let target: String
    /// The member that has the target: `token`, `fid`, `topic` or `condition`.
    package let kind: String
    package let isValidatedOnly: Bool
    /// The message without its target.
    package let content: JSONTree

    private static let maxDataSize = 4096
    private static let targets = ["token", "fid", "topic", "condition"]

    /// Why a request is refused with INVALID_ARGUMENT.
    struct Fault: Error {
        /// The member, as Google names it; nil if the whole request is concerned.
        let field: String?
        let text: String
    }

    /// Reads the body of a request, and checks what FCM checks.
    init(_ body: [UInt8]) throws(Fault) {
        guard let tree = ByteView.lending(body, to: { JSONTree.strict($0) }), tree.members != nil,
            let message = tree["message"], let members = message.members
        else { throw Fault(field: nil, text: "Invalid JSON payload received.") }
        let given = members.filter { Self.targets.contains($0.key) }
        guard given.count == 1, let target = given[0].value.string else {
            throw Fault(field: "message", text: "Recipient of the message is not set.")
        }
        self.target = target
        kind = given[0].key
        isValidatedOnly = tree["validate_only"]?.boolean ?? false
        content = JSONTree(.object(members.filter { !Self.targets.contains($0.key) }))
        guard !target.isEmpty else {
            throw Fault(field: "message.\(kind)", text: "The registration token is not a valid FCM registration token")
        }
        let size = try Self.checkData(message["data"], at: "message.data") + Self.size(of: message["notification"])
        guard size <= Self.maxDataSize else {
            throw Fault(field: "message", text: "Message too big, more than \(Self.maxDataSize) bytes")
        }
        _ = try Self.checkData(message["android"]?["data"], at: "message.android.data")
        if let text = message["android"]?["ttl"] {
            guard let text = text.string, text.last == "s", let seconds = Double(text.dropLast()),
                (0...2_419_200).contains(seconds)
            else { throw Fault(field: "message.android.ttl", text: "Illegal duration format") }
        }
    }

    private static func checkData(_ data: JSONTree?, at field: String) throws(Fault) -> Int {
        guard let data else { return 0 }
        guard let members = data.members else { throw Fault(field: field, text: "Invalid value at '\(field)'") }
        var size = 0
        for member in members {
            guard let text = member.value.string else {
                throw Fault(field: "\(field)[0].value", text: "Invalid value at '\(field)[0].value' (TYPE_STRING)")
            }
            let isReserved =
                ["from", "message_type"].contains(member.key) || member.key.hasPrefix("google.")
                || member.key.hasPrefix("gcm.")
            guard !isReserved else { throw Fault(field: field, text: "Invalid data payload key: \(member.key)") }
            size += member.key.utf8.count + text.utf8.count
        }
        return size
    }

    private static func size(of notification: JSONTree?) -> Int {
        (notification?.members ?? []).reduce(0) { $0 + $1.key.utf8.count + ($1.value.string?.utf8.count ?? 0) }
    }
}
