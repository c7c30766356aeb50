package import PushModel
package import PushWire

/// What FCM makes of the addresses and messages of an app. It is the same for all apps.
package struct FCMCodec: ServiceCodec {
    package init() {}

    package static let types = MessageTypes([.alert, .background])

    package var types: MessageTypes { Self.types }

    // MARK: Addresses

    package func address(_ text: ByteView) throws(AddressFault) -> Address { try Address.ofFCM(text.copied) }

    package func address(givenAs text: String) throws(AddressFault) -> Address { try Address.ofFCM(Array(text.utf8)) }

    package func address(pastedAs text: String) throws(AddressFault) -> Address {
        if text.contains("…") || text.contains("...") {
            throw AddressFault("is a shortened token; let the app print the whole token, or its installation id")
        }
        if text.drop(while: \.isWhitespace).first == "{" {
            throw AddressFault("is an object; give the registration token or the installation id alone")
        }
        let bare = text.filter { !$0.isWhitespace && $0 != "\"" && $0 != "'" }
        guard !bare.isEmpty else {
            throw AddressFault("is empty; give the registration token or the installation id as the app shows it")
        }
        return try address(givenAs: bare)
    }

    package func text(of address: Address) -> String { String(decoding: address.bytes, as: UTF8.self) }

    // MARK: Options

    package func check(_ type: MessageType) throws(Rejection) {}

    package func check(_ priority: PushPriority, for type: MessageType) throws(Rejection) {}

    /// The whole message. FCM's own limit is on a part of it.
    package func payloadLimit(of type: MessageType) -> Int { FCMPayload.messageLimit }

    // MARK: Payloads

    /// A link is data, which the app opens. FCM has neither categories nor threads.
    package var plainRules: PlainRules {
        PlainRules(
            "FCM", shows: [.alert, .badge, .sound, .custom, .image, .link], alertMembers: PlainMessage.alertMembers)
    }

    package func payload(from content: PlainContent, for options: MessageOptions) throws(Rejection) -> [UInt8] {
        try PlainMessage.bytes(from: content, for: options)
    }

    package func findings(
        in payload: [UInt8], values: IndexedObject?, for options: MessageOptions
    ) throws(Rejection) -> [UInt8] {
        guard let values else { throw Rejection(.badPayload, detail: "fcm: the payload is not a JSON object") }
        let slots = MessageSlots(payload)
        return try MessageRules(values, slots: slots, options: options).findings()
    }
}
