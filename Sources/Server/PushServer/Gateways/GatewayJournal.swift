import PushGateways
import PushLoop
import PushModel

/// The first receiver of the reports of one app's gateway: it logs the events and counts the outcomes. The router
/// receives the reports after it.
final class GatewayJournal: Sendable {
    let metrics: AppMetrics
    private let log: Logger
    private let found = Locked<GatewayTrouble.Kind?>(nil)

    init(_ app: AppID, log: Logger, metrics: AppMetrics) {
        self.log = log.with([.app: app.name])
        self.metrics = metrics
    }

    /// Why nothing is sent, if that concerns the push service or the credential.
    var trouble: GatewayTrouble.Kind? { found.withLock { $0 } }

    func take(_ report: GatewayReport) {
        if !report.deliveries.isEmpty { metrics.count(report.deliveries) }
        for event in report.events {
            note(event)
            write(event)
        }
    }

    private func note(_ event: GatewayEvent) {
        switch event {
        // Other push services of the app are sent to.
        case .breakerOpened(_, .origin): break
        case .breakerOpened: found.withLock { $0 = .failing }
        // A key that cannot sign says nothing about the push service.
        case .credentialFailed(let halt): found.withLock { $0 = halt.reason == nil ? nil : .refused }
        case .breakerClosed, .credentialRotated, .credentialAccepted: found.withLock { $0 = nil }
        case .up, .down, .goAway, .scaled, .credentialRefused, .tokenFailed: break
        }
    }

    private func write(_ event: GatewayEvent) {
        switch event {
        case .up(let id, let address, let streams):
            log.info(
                "connection up",
                [.event: "connection.up", .connection: id.number, .address: address, .streams: streams])
        case .down(let id, let address, let end, let age, let answered):
            let fields: LogFields = [
                .event: "connection.down", .connection: id.number, .address: address ?? "-",
                .code: end.fault.code.rawValue, .reason: end.fault.sentence, .age: age, .answered: answered,
            ]
            if end.isOrderly {
                log.info("connection ended", fields)
            } else {
                log.warning("connection lost or not established", fields)
            }
        case .goAway(let id, let address, let reason):
            log.info(
                "GOAWAY received, connection accepts no more requests",
                [
                    .event: "connection.goaway", .connection: id.number, .address: address ?? "-",
                    .reason: reason?.rawValue ?? "-",
                ])
        case .scaled(let cause, let connections, let minimum, let maximum):
            log.info(
                "gateway scaled",
                [
                    .event: "connection.scaled", .reason: cause.rawValue, .connections: connections,
                    .minimum: minimum, .maximum: maximum,
                ])
        case .breakerOpened, .breakerClosed, .credentialRefused, .tokenFailed, .credentialFailed,
            .credentialRotated, .credentialAccepted:
            writeState(event)
        }
    }

    /// Writes an event that is not about one connection.
    private func writeState(_ event: GatewayEvent) {
        switch event {
        case .breakerOpened(let pause, .origin(let origin)):
            log.warning(
                "circuit breaker opened, nothing is sent to this push service",
                [.event: "breaker.opened", .address: origin.name, .duration: pause, .reason: origin.sentence])
        case .breakerOpened(let pause, let cause):
            log.warning(
                "circuit breaker opened, sending paused",
                [.event: "breaker.opened", .duration: pause, .reason: cause.description])
        case .breakerClosed:
            log.notice("circuit breaker closed, sending resumed", [.event: "breaker.closed"])
        case .credentialRefused(let fault):
            log.warning(
                "credential refused by the push service",
                [.event: "credential.refused", .code: fault.code.rawValue, .reason: fault.sentence])
        case .tokenFailed(let halt):
            log.error(
                "the new credential has no token yet, connections with the one before still send",
                [.event: "credential.failed", .reason: halt.message])
        case .credentialFailed(let halt):
            log.error(
                "sending halted, the credential is unusable; it is tried again at least once a minute",
                [.event: "credential.failed", .reason: halt.message])
        case .credentialRotated:
            log.notice("credential rotated", [.event: "credential.rotated"])
        case .credentialAccepted:
            log.notice(
                "the push service accepts the credential again, sending resumed",
                [.event: "credential.rotated", .reason: "accepted"])
        case .up, .down, .goAway, .scaled: break
        }
    }
}

extension ConnectionEnd {
    fileprivate var isOrderly: Bool {
        (kind == .byUs || kind == .goAway) && fault.code != .credentialRefused
    }
}
