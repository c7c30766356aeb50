package import PushModel

/// Reads what comes with an answer that is not 200 (PROTOCOLS A6). Nothing in it can be relied on.
package enum ProviderAnswer {
    package static func reason(in body: [UInt8]) -> ProviderReason? {
        nil
    }

    package static func timestamp(in body: [UInt8]) -> Int64? {
        nil
    }

    package static func retryAfter(_ text: String) -> Int? {
        guard let seconds = Int(text), seconds >= 0 else { return nil }
        return seconds
    }
}
