/// A status of Apple's `verifyReceipt`, with its meaning. Statuses that Apple adds later survive.
public struct ReceiptStatus: RawRepresentable, Hashable, Sendable, CustomStringConvertible {
    /// The number in the response.
    public let rawValue: Int64

    /// Creates a status from the number in the response.
    public init(rawValue: Int64) {
        self.rawValue = rawValue
    }

    /// What a client does about a status.
    enum Remedy: Hashable {
        case accept
        /// Ask the environment to which the receipt belongs.
        case ask(StoreEnvironment)
        /// Ask again. If that does not help, refuse with this code.
        case retry(ReceiptRefusal.Code)
        /// Ask again if the response says that this may help.
        case retryIfAllowed
        case refuse(ReceiptRefusal.Code)
    }

    private static let known: [Int64: (remedy: Remedy, meaning: String)] = [
        0: (.accept, "the receipt is valid"),
        21000: (.refuse(.serviceRefused), "the request was not a POST request, or its body was not JSON"),
        21001: (.refuse(.serviceRefused), "the request has a status that the App Store no longer sends"),
        21002: (.retry(.malformedReceipt), "the receipt is malformed, or the service has a temporary problem"),
        21003: (.refuse(.receiptNotAuthentic), "the receipt cannot be authenticated"),
        21004: (
            .refuse(.wrongSharedSecret), "the shared secret is missing or is not that of the receipt's account"
        ),
        21005: (.retry(.serviceUnavailable), "the receipt server is temporarily not available"),
        21006: (.refuse(.subscriptionExpired), "the receipt is valid, but its subscription has expired"),
        21007: (.ask(.sandbox), "the receipt is from the sandbox, but was sent to production"),
        21008: (.ask(.production), "the receipt is from production, but was sent to the sandbox"),
        21009: (.retry(.serviceUnavailable), "the App Store has an internal data access error"),
        21010: (.refuse(.accountNotFound), "the account of the receipt does not exist or was deleted"),
    ]

    var remedy: Remedy { Self.known[rawValue]?.remedy ?? .retryIfAllowed }

    /// The meaning of the status: a clause for a message.
    public var meaning: String {
        if let known = Self.known[rawValue] { return known.meaning }
        return 21100...21199 ~= rawValue
            ? "the App Store has an internal data access error" : "the meaning of this status is not documented"
    }

    /// The number with its meaning.
    public var description: String { "\(rawValue) (\(meaning))" }
}
