package import PushModel

/// The router as operators see it.
package struct RouterStatus: Sendable, Equatable {
    package struct Line: Sendable, Equatable {
        package let priority: PushPriority
        package let isBroad: Bool
        /// Messages whose turn has not come.
        package let waiting: Int
        /// Of those, the ones that are not in memory.
        package let spilled: Int
        /// Messages that are being looked up or sent.
        package let begun: Int
    }

    package struct App: Sendable, Equatable {
        package let app: AppID
        package let hasGateway: Bool
        /// Those that hold anything.
        package let lines: [Line]
        /// Messages in memory.
        package let loaded: Int
        /// Deliveries with the gateway, and those that wait for another attempt.
        package let out: Int
        package let retrying: Int
        package let credit: Int
    }

    package var apps: [App] = []
    /// Accepted, not scheduled, and not done.
    package var unfinished = 0
    package var loaded = 0
    package var loadedBytes = 0
    /// What the numbers of those take that are not in memory.
    package var spilledBytes = 0
    /// Seconds since 1970: when the next scheduled message is due.
    package var nextDue: Int64?
    /// What keeps it from going on: for people.
    package var troubles: [String] = []

    package init() {}
}

extension RouterMachine {
    package func status() -> RouterStatus {
        var status = RouterStatus()
        for (place, app) in apps.enumerated() {
            let own = place * LaneTurns.lanes..<(place + 1) * LaneTurns.lanes
            let lines = own.compactMap { lane -> RouterStatus.Line? in
                let line = lanes[lane]
                guard line.waiting + line.begun > 0 else { return nil }
                return RouterStatus.Line(
                    priority: [.ten, .five, .one][lane % LaneTurns.lanes / 2], isBroad: lane & 1 == 1,
                    waiting: line.waiting, spilled: line.spilled.count + line.loading, begun: line.begun)
            }
            status.apps.append(
                RouterStatus.App(
                    app: app.app, hasGateway: app.hasGate, lines: lines, loaded: own.reduce(0) { $0 + lanes[$1].held },
                    out: app.out, retrying: app.retrying, credit: app.credit))
        }
        status.unfinished = unfinished
        status.loaded = held
        status.loadedBytes = heldBytes
        status.spilledBytes = lanes.reduce(0) { $0 + $1.spilled.reservedBytes }
        status.nextDue = nextDue
        if let fault { status.troubles.append(fault.description) }
        if let text = ledgerTrouble.text { status.troubles.append(text) }
        if let text = registryTrouble.text { status.troubles.append("the registry does not answer: \(text)") }
        return status
    }
}
