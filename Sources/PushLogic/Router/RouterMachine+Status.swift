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

    package init() {}
}

/// What keeps the router from going on, in words for people. That the ledger cannot write is not among it: the
/// caller of `healthChanged` knows it.
package struct RouterTroubles: Sendable, Equatable {
    /// Of single messages, no more than this are named.
    static let most = 8

    /// What holds up every app.
    package var everywhere: [String] = []
    /// What holds up one message and no other.
    package var ofMessages: [String] = []
    /// Messages that were accepted and turned out to be damaged, since the start.
    package var damaged: UInt64 = 0

    package init() {}
}

extension RouterMachine {
    package func status() -> RouterStatus {
        var status = RouterStatus()
        for (place, app) in apps.enumerated() {
            let own = lanesOf(place)
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
        return status
    }

    /// Cheap, however many messages wait for the registry: asked at the end of each tick.
    package var troubles: RouterTroubles {
        var troubles = RouterTroubles()
        troubles.damaged = damaged
        if let text = ledgerTrouble.text { troubles.everywhere.append("the ledger cannot be read: \(text)") }
        if let text = registryTrouble { troubles.everywhere.append("the registry does not answer: \(text)") }
        for message in failingAlone {
            guard let trouble = messages[message].fanOut?.trouble else { continue }
            let content = messages[message].accepted.message
            troubles.ofMessages.append(
                "message \(content.id.text) of app \(content.app.name) waits, because the registry fails to say whom it "
                    + "is for: \(trouble.text)")
        }
        return troubles
    }
}
