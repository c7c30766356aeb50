/// Where the client counts. The default counts nothing. All names begin with `carillon_client_`.
///
/// The functions are called on a thread of the client and must not block. Counts are collected and reported a few
/// times a second, not for every message.
public protocol ClientMetrics: Sendable {
    /// Called to add to a counter, such as `carillon_client_acks_total` with `status`: `accepted`.
    func count(_ name: String, labels: [(String, String)], by amount: Int)
    /// Called to set a gauge, such as `carillon_client_unacknowledged`.
    func gauge(_ name: String, value: Int)
}

/// The metrics that count nothing.
public struct NoMetrics: ClientMetrics {
    /// Creates metrics that count nothing.
    public init() {}
    /// Counts nothing.
    public func count(_ name: String, labels: [(String, String)], by amount: Int) {}
    /// Sets nothing.
    public func gauge(_ name: String, value: Int) {}
}
