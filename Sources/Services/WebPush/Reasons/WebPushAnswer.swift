import PushModel
import PushWire

/// What the answers of push services say. Most of them have no body; Mozilla gives a number, and Apple a word.
enum WebPushAnswer {
    /// The largest body that is read. Other bodies are those of unknown hosts, which nothing repeats.
    static let maxLength = 4096

    /// What is waited for after 406 and 429 without `retry-after`, in seconds. Windows asks for 900.
    static let afterLimit = 60

    /// Returns what an answer other than 2xx says.
    ///
    /// - Parameter retryAfter: The seconds for which the answer asks.
    static func refusal(status: Int, body: UnsafeRawBufferPointer, retryAfter: Int?) -> Refusal {
        let given = unsafe body.count <= maxLength ? reason(status: status, in: Array(body)) : nil
        let isLimit = status == 406 || status == 429
        return Refusal(
            status: status, reason: given ?? .webPush(status: status),
            retryAfter: retryAfter ?? (isLimit ? afterLimit : nil))
    }

    /// Returns the reason in a body; nil if it has none that is known.
    static func reason(status: Int, in body: [UInt8]) -> ProviderReason? {
        guard let json = try? JSONDocument(body), json.kind(json.root) == .object else { return nil }
        if let number = json.value("errno", in: json.root).flatMap({ json.integer($0) }) {
            return ofMozilla(number, status: status)
        }
        guard let word = json.value("reason", in: json.root).flatMap({ json.string($0) }),
            let known = ReasonTable.webPush.known(word),
            // Apple gives some of its words with several statuses, which all mean that the request is refused.
            known.status == status || (isRefusal(known.status) && isRefusal(status))
        else { return nil }
        return known.reason
    }

    private static func isRefusal(_ status: Int) -> Bool { (400...403).contains(status) }

    /// The numbers of Mozilla's errors that say more than the status.
    private static func ofMozilla(_ number: Int64, status: Int) -> ProviderReason? {
        switch (status, number) {
        case (404, 102): .unknownSubscription
        case (410, 103), (410, 105), (410, 106): .subscriptionGone
        case (400, 111), (400, 112), (400, 114): .badTTL
        case (400, 113): .badTopic
        case (400, 101), (400, 110): .badEncryption
        case (401, 109): .unauthorized
        default: nil
        }
    }

    /// Returns the last part of the path in `location`; nil if it is long or has other than printable characters.
    static func providerID(_ location: String) -> ProviderID? {
        let path = location.utf8.prefix { $0 != UInt8(ascii: "?") && $0 != UInt8(ascii: "#") }
        return path.count <= Address.maxLength ? ProviderID(lastPartOf: String(Substring(path))) : nil
    }
}
