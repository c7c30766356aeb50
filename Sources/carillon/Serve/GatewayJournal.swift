import PushGateways
import PushLoop
import PushModel

/// Where the reports of one app's gateway arrive before the router has them: events become lines of the log, endings
/// become numbers.
final class GatewayJournal: Sendable {
    let metrics: AppMetrics
    private let log: Logger

    init(_ app: AppID, _ log: Logger, _ metrics: AppMetrics) {
        self.log = log.with([.app: app.name])
        self.metrics = metrics
    }

    func take(_ report: GatewayReport) {
        if !report.deliveries.isEmpty { metrics.count(report.deliveries) }
        for event in report.events { write(event) }
    }

    private func write(_ event: GatewayEvent) {
        switch event {
        case .up(let id, let address, let streams):
            log.info(
                "a connection is up",
                [.event: "connection.up", .connection: id.number, .address: address, .streams: streams])
        case .down(let id, let address, let end, let age, let answered):
            let fields: LogFields = [
                .event: "connection.down", .connection: id.number, .address: address ?? "-",
                .code: end.fault.code.rawValue, .reason: end.fault.sentence, .age: age, .answered: answered,
            ]
            if end.isOrderly {
                log.info("a connection has ended", fields)
            } else {
                log.warning("a connection was lost, or did not come up", fields)
            }
        case .goAway(let id, let address, let reason):
            log.info(
                "the push service takes no more on a connection",
                [
                    .event: "connection.goaway", .connection: id.number, .address: address ?? "-",
                    .reason: reason?.rawValue ?? "-",
                ])
        case .scaled(let cause, let connections, let minimum, let maximum):
            log.info(
                "another number of connections is wanted",
                [
                    .event: "connection.scaled", .reason: cause.rawValue, .connections: connections,
                    .minimum: minimum, .maximum: maximum,
                ])
        case .breakerOpened(let pause, let cause):
            log.warning(
                "nothing is sent for a while", [.event: "breaker.opened", .duration: pause, .reason: cause.words])
        case .breakerClosed:
            log.notice("sending goes on", [.event: "breaker.closed"])
        case .credentialRefused(let fault):
            log.warning(
                "the push service refused the credential",
                [.event: "credential.refused", .code: fault.code.rawValue, .reason: fault.sentence])
        case .credentialFailed(let halt):
            log.error(
                "nothing goes out until the credential is changed: mend it, then send SIGHUP",
                [.event: "credential.failed", .reason: halt.message])
        case .credentialRotated:
            log.notice("another credential is in force", [.event: "credential.rotated"])
        }
    }
}

extension ConnectionEnd {
    fileprivate var isOrderly: Bool {
        (kind == .byUs || kind == .goAway) && fault.code != .credentialRefused
    }
}
