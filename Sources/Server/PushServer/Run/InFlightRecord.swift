import PushLoop
import PushModel

/// Keeps the record of the run up to date with the number of deliveries that may be unanswered at the push services.
///
/// After a crash the next start reports this number: it bounds the deliveries that may arrive twice.
struct InFlightRecord: Sendable {
    let record: RunRecord
    let gateways: ServedGateways
    let files: BlockingPool

    private static let interval: Duration = .seconds(5)
    /// The assumed stream limit of a connection that has not announced one.
    private static let usualStreams = 1000

    /// Writes the record whenever the number has changed, until the task is cancelled.
    func keep() async {
        var last = 0
        var written: Int?
        repeat {
            let limit = await gateways.statuses().reduce(0) { sum, served in
                (served.gateway?.connections ?? []).reduce(sum) { $0 + Self.maxUnanswered($1) }
            }
            // Connections that existed at the last look count too, because their deliveries may still be unanswered.
            let most = max(last, limit)
            last = limit
            if most != written, (try? await files.run { [record] in record.write(maxInFlight: most) }) != nil {
                written = most
            }
            try? await Task.sleep(for: Self.interval)
        } while !Task.isCancelled
    }

    /// Returns the streams that a connection has, or may have by the time of the next look: the first limit that a push
    /// service announces is low, and a higher one soon follows.
    private static func maxUnanswered(_ connection: ConnectionStatus) -> Int {
        if connection.state == .closed { return 0 }
        let limit = connection.streamLimit ?? usualStreams
        return connection.age < interval * 2 ? max(limit, usualStreams) : limit
    }
}
