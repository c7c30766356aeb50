package import PushTime

/// A provider's answer with a status other than 200.
package struct Refusal: Sendable, Equatable {
    package let status: Int
    /// The reason; nil if the answer contained none, or none that could be parsed.
    package let reason: ProviderReason?
    /// With status 410: the last moment at which the provider knew that the token was dead.
    package let timestamp: WallTime?
    /// The value of `retry-after`, in seconds.
    package let retryAfter: Int?

    package init(status: Int, reason: ProviderReason?, timestamp: WallTime? = nil, retryAfter: Int? = nil) {
        self.status = status
        self.reason = reason
        self.timestamp = timestamp
        self.retryAfter = retryAfter
    }

    /// Whether the provider gave it. Status 0 stands for a delivery that was never processed.
    package var isAnswer: Bool { status != 0 }
}
