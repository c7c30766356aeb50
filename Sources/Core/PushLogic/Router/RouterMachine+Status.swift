package import PushModel
package import PushTime

/// The state of the router for operators.
package struct RouterStatus: Sendable, Equatable {
    package struct Line: Sendable, Equatable {
        package let priority: PushPriority
        package let isBroad: Bool
        /// The number of messages that are not begun.
        package let waiting: Int
        /// The number of those that are not in memory.
        package let spilled: Int
        /// The number of messages that are being looked up or sent.
        package let begun: Int
    }

    package struct App: Sendable, Equatable {
        package let app: AppID
        package let hasGateway: Bool
        /// The lanes that are not empty.
        package let lines: [Line]
        /// The number of messages in memory.
        package let loaded: Int
        /// The number of deliveries at the gateway, and of those that wait for another attempt.
        package let out: Int
        package let retrying: Int
        package let credit: Int
    }

    package var apps: [App] = []
    /// The number of messages that are accepted, not scheduled and not done.
    package var unfinished = 0
    package var loaded = 0
    package var loadedBytes = 0
    /// The bytes that the numbers of messages on disk occupy in memory.
    package var spilledBytes = 0
    /// The time at which the next scheduled message is due, in seconds since 1970.
    package var nextDue: UnixSeconds?

    package init() {}
}

/// The problems that hold up the router, as text for operators. A ledger that cannot write is not included: the caller
/// of ``RouterMachine/healthChanged(_:)`` knows about it.
package struct RouterTroubles: Sendable, Equatable {
    /// The maximum number of single messages that are listed.
    static let maxMessages = 8

    /// Problems that hold up every app.
    package var everywhere: [String] = []
    /// Problems that hold up a single message.
    package var ofMessages: [String] = []
    /// The number of accepted messages that turned out to be damaged since the start.
    package var damaged: UInt64 = 0

    package init() {}
}

extension RouterMachine {
    package func status() -> RouterStatus {
        var status = RouterStatus()
        for app in apps.all {
            let state = apps[app]
            let lines = app.lanes.compactMap { lane -> RouterStatus.Line? in
                let queues = lanes[lane]
                guard queues.waiting + queues.begun > 0 else { return nil }
                return RouterStatus.Line(
                    priority: lane.kind.priority, isBroad: !lane.isBrief, waiting: queues.waiting,
                    spilled: queues.spilled.count + queues.memory.loading, begun: queues.begun)
            }
            status.apps.append(
                RouterStatus.App(
                    app: state.id, hasGateway: state.hasGate, lines: lines,
                    loaded: app.lanes.reduce(0) { $0 + lanes[$1].memory.held }, out: state.out,
                    retrying: state.retrying,
                    credit: state.credit))
        }
        status.unfinished = unfinished
        status.loaded = budget.held
        status.loadedBytes = budget.bytes
        status.spilledBytes = lanes.all.reduce(0) { $0 + lanes[$1].spilled.reservedBytes }
        status.nextDue = schedule.nextDue
        return status
    }

    /// The current problems. They are read at the end of each tick, so their cost does not depend on the number of
    /// messages that wait.
    package var troubles: RouterTroubles {
        var troubles = RouterTroubles()
        troubles.damaged = counts.damaged
        if let text = ledgerRetry.text { troubles.everywhere.append("the ledger cannot be read: \(text)") }
        if let text = lookUps.trouble { troubles.everywhere.append("the registry does not answer: \(text)") }
        for message in lookUps.failingAlone {
            guard let retry = messages[message].fanOut?.pageQuery?.retry else { continue }
            let content = messages[message].accepted.message
            troubles.ofMessages.append(
                "message \(content.id.text) of app \(content.app.name) waits, because the registry cannot find "
                    + "its devices: \(retry.text)")
        }
        return troubles
    }
}
