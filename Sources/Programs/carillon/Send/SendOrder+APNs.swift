import APNs
import PushModel
import PushText
import PushTime
import PushWire

/// What `send` knows of APNs: broadcasts, ids of deliveries, notifications that only wake an app, and the payload rules.
extension SendOrder {
    static let broadcastType = MessageType(.liveactivity)
    static let backgroundType = MessageType(.background)

    /// Returns the payload of a message without content; nil if its type needs one.
    static func payload(withoutContent type: MessageType) -> [UInt8]? {
        type == backgroundType ? Payload(aps: .background).encoded() : nil
    }

    /// Judges the payload and the options of a message.
    static func judged(
        _ message: Message, collapseID: String?, isBroadcast: Bool, of app: APNsSettings, at now: WallTime
    ) -> [PayloadFinding] {
        var options = PushOptions(message, topic: Topic(app.topic, for: PushType(message.type)), now: now)
        options.collapseID = collapseID
        if isBroadcast { options.target = .broadcast }
        return PayloadRules.findings(in: message.payload, for: options)
    }

    static func channel(_ arguments: Arguments) throws(Failure) -> ChannelID? {
        guard let text = arguments.text("channel") else { return nil }
        for option in ["token", "token-file", "collapse-id", "apns-id"] where arguments.has(option) {
            throw Failure(.usage, "'--\(option)' cannot be combined with '--channel': a broadcast has no device")
        }
        guard let channel = ChannelID(text) else {
            throw Failure(
                .badInput, "'--channel' is not a channel id: use the base64 id from 'carillon channels create'")
        }
        return channel
    }

    static func deliveryID(_ arguments: Arguments) throws(Failure) -> DeliveryID? {
        guard let text = arguments.text("apns-id") else { return nil }
        if arguments.has("id") {
            throw Failure(.usage, "'--apns-id' cannot be combined with '--id', from which it is derived")
        }
        guard let id = DeliveryID(text) else {
            throw Failure(
                .badInput,
                "'--apns-id \(PlainText.line(text, limit: 60))' is not a UUID: 8-4-4-4-12 hexadecimal digits")
        }
        return id
    }
}
