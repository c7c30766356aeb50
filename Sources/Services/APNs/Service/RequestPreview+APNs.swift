import PushGateways
import PushModel

extension APNsSettings {
    /// Returns the request that sends a notification to a device.
    ///
    /// - Parameters:
    ///   - endpoint: The host and port of the app.
    ///   - size: The size of the token in words, which stands for it.
    func preview(
        of message: Message, deliveryID: DeliveryID, to endpoint: String, tokenSize size: String,
        with credential: Credential
    ) -> RequestPreview {
        var fields = [credential.preview]
        guard wireProtocol == .http2 else {
            fields.append(("priority", "\(message.priority.rawValue)"))
            if let time = message.expiry.expiresAt { fields.append(("expiration", "\(time)")) }
            return RequestPreview("a binary frame to tls://\(endpoint), token: \(size)", fields: fields)
        }
        let type = PushType(message.type)
        fields += [
            ("apns-topic", type.topic(of: topic.text)), ("apns-push-type", type.rawValue),
            ("apns-priority", "\(message.priority.rawValue)"), ("apns-id", "\(deliveryID)"),
        ]
        return RequestPreview(
            "POST https://\(endpoint)\(DevicePath.prefix)TOKEN", fields: fields + Self.common(message))
    }

    /// Returns the request that sends a broadcast to a channel.
    func preview(
        ofBroadcast message: Message, to channel: ChannelID, with credential: Credential
    ) -> RequestPreview {
        let fields = [
            credential.preview, ("apns-channel-id", channel.text),
            ("apns-push-type", PushType(message.type).rawValue), ("apns-priority", "\(message.priority.rawValue)"),
        ]
        return RequestPreview(
            "POST https://\(broadcast.send)/4/broadcasts/apps/\(topic)", fields: fields + Self.common(message))
    }

    private static func common(_ message: Message) -> [(name: String, text: String)] {
        (message.expiry.expiresAt.map { [("apns-expiration", "\($0)")] } ?? [])
            + (message.collapseID.map { [("apns-collapse-id", $0.text)] } ?? [])
    }
}

extension Credential {
    fileprivate var preview: (name: String, text: String) {
        switch self {
        case .providerKey(let key): ("authorization", "bearer <redacted: signed with \(key)>")
        case .certificate(let certificate): ("(certificate)", certificate.certificate.info.subject)
        }
    }
}
