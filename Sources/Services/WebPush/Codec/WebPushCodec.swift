package import PushModel
package import PushWire

/// What Web Push makes of the addresses and messages of an app.
package struct WebPushCodec: ServiceCodec {
    /// The hosts that the app sends to; nil for an app that is not in the configuration.
    private let rules: OriginRules?
    private let words: DeclarativeMessage.Words

    /// Creates the codec for apps that are not in the configuration, whose addresses are only found and removed.
    package init() {
        rules = nil
        words = DeclarativeMessage.Words(title: "Carillon", navigate: nil)
    }

    package init(app: AppID, settings: WebPushSettings) {
        rules = settings.origins
        words = DeclarativeMessage.Words(title: settings.title ?? app.name, navigate: settings.navigate)
    }

    package static let types = MessageTypes([.alert, .background])

    package var types: MessageTypes { Self.types }

    // MARK: Addresses

    package func address(_ text: ByteView) throws(AddressFault) -> Address {
        guard !text.isEmpty else { throw AddressFault("is empty") }
        // The bound is checked before the text is copied.
        guard text.count <= Subscription.maxTextLength else {
            throw AddressFault("has more than \(Subscription.maxTextLength) bytes")
        }
        return try address(of: Subscription(json: text.copied))
    }

    package func address(object text: ByteView) throws(AddressFault) -> Address { try address(text) }

    package func address(givenAs text: String) throws(AddressFault) -> Address { try address(text) }

    package func address(pastedAs text: String) throws(AddressFault) -> Address {
        if text.contains("…") || text.contains("...") {
            throw AddressFault("is a shortened subscription; let the page show JSON.stringify(subscription)")
        }
        var bare = text[...]
        while let first = bare.first, first.isWhitespace || first == "'" { bare = bare.dropFirst() }
        while let last = bare.last, last.isWhitespace || last == "'" || last == ";" { bare = bare.dropLast() }
        guard !bare.isEmpty else { throw AddressFault("is empty; give the subscription as the page shows it") }
        if bare.hasPrefix("https://") {
            throw AddressFault("is an endpoint alone; give the whole subscription, with its keys")
        }
        return try address(String(bare))
    }

    private func address(of subscription: Subscription) throws(AddressFault) -> Address {
        if let fault = rules?.fault(of: subscription.origin) { throw fault }
        guard let address = subscription.address else {
            throw AddressFault(
                "has an endpoint of more than \(EndpointText.maxLengthWithKeyID) bytes and an applicationServerKey")
        }
        return address
    }

    package func text(of address: Address) -> String { address.subscriptionText }

    // MARK: Options

    package func check(_ type: MessageType) throws(Rejection) {}

    package func check(_ priority: PushPriority, for type: MessageType) throws(Rejection) {}

    package func payloadLimit(of type: MessageType) -> Int { WebPushPayload.limit }

    // MARK: Payloads

    package var plainRules: PlainRules {
        PlainRules("Web Push", shows: [.alert, .badge, .custom, .image, .link])
    }

    package func payload(from content: PlainContent, for options: MessageOptions) throws(Rejection) -> [UInt8] {
        try DeclarativeMessage.bytes(from: content, for: options, words: words)
    }

    /// A payload belongs to the page: any JSON value is sent as it is.
    package func findings(
        in payload: [UInt8], values: IndexedObject?, for options: MessageOptions
    ) throws(Rejection) -> [UInt8] {
        guard values != nil || (try? JSONDocument(payload)) != nil else {
            throw Rejection(.badPayload, detail: "webpush: the payload is not JSON")
        }
        return []
    }
}
