/// The network, as a queue needs it. Tests replace it.
protocol Transport: Sendable {
    /// Starts a transfer. Its end is reported to it, even if it is cancelled.
    func start(_ transfer: Transfer, method: HTTPMethod, fields: HeaderFields)
}
