import PushLoop
package import PushModel
import PushPostgreSQL
import PushTime
import PushWire

/// What the nodes of the cluster share about their apps: pauses, numbers of connections and brakes, which all follow, and
/// a report of each node.
///
/// All of it is read once a second. A reading that a write of this node has overtaken is of no use.
extension PostgreSQLCore {
    /// The shared state as this node knows it.
    struct Shared {
        /// The last reading, without reports.
        var apps: SharedApps
        /// The number of writes of this node that have begun or ended.
        var writes = 0
        var readAt: MonotonicTime?
        var isReading = false
        /// The events that wait to be stored in a part.
        var publishing: Set<SharedEvent> = []
        /// The reports of other nodes that were read last.
        var known: [String: (run: Int64, number: Int64)] = [:]

        /// A random number of this process, and the number of its last report.
        let run = Int64.random(in: 1 ... .max)
        var number: Int64 = 0
        /// The name of this process in changes that it makes.
        var author: String { "\(run)" }
        var report = NodeReport()
        /// Whether the last report is not stored yet.
        var isReportDue = false
        var isReporting = false
    }

    private static let readEvery: Duration = .seconds(1)
    /// A report of this many bytes has more than 100,000 apps.
    private static let maxReportBytes: Int64 = 16 << 20

    // MARK: Changes

    func pause(_ app: AppID, since time: WallTime?, reply: @escaping @Sendable (LedgerFault?) -> Void) {
        let section = PostgreSQLSection()
        if let time {
            section.call(SharedStatements.setPaused) { parameters in
                parameters.append(text: app.name)
                parameters.append(int8: time.milliseconds)
            }
        } else {
            section.call(SharedStatements.removePaused) { $0.append(text: app.name) }
        }
        write(section) { [weak self] result in
            switch result {
            case .done:
                self?.shared.apps.paused[app] = time
                reply(nil)
            case .refused(let failure): reply(LedgerFault("\(failure)"))
            case .unknown(let reason), .notSent(let reason): reply(LedgerFault(reason))
            }
        }
    }

    /// Stores the number of connections of an app. One for all nodes replaces those of single nodes.
    func scale(_ mark: SharedScale, reply: @escaping @Sendable (LedgerFault?) -> Void) {
        let section = PostgreSQLSection()
        if mark.node == nil {
            section.call(SharedStatements.removeScales) { $0.append(text: mark.app.name) }
        }
        section.call(SharedStatements.setScale) { [settings] parameters in
            parameters.append(text: mark.app.name)
            parameters.append(text: mark.node?.name ?? "")
            parameters.append(int8: settings.clock().milliseconds)
            parameters.append(
                int8Array: [mark.connections, mark.configured].flatMap { [Int64($0.lowerBound), Int64($0.upperBound)] })
        }
        write(section) { result in
            switch result {
            case .done: reply(nil)
            case .refused(let failure): reply(LedgerFault("\(failure)"))
            case .unknown(let reason), .notSent(let reason): reply(LedgerFault(reason))
            }
        }
    }

    /// Forgets the numbers of connections that operators have set for an app, because the configuration has another.
    func removeScales(of app: AppID) {
        let section = PostgreSQLSection()
        section.call(SharedStatements.removeScales) { $0.append(text: app.name) }
        // If this fails, the rows do not apply to nodes with the new configuration.
        write(section) { _ in }
    }

    func write(_ section: PostgreSQLSection, reply: @escaping (PostgreSQLReply) -> Void) {
        shared.writes += 1
        reads.send(section, timeout: .seconds(30)) { [weak self] result in
            reply(result)
            self?.wrote()
        }
    }

    /// A write of this node has ended. What is being read may not have it, and what another node has changed meanwhile
    /// is read at once.
    func wrote() {
        shared.writes += 1
        shared.readAt = nil
    }

    // MARK: Reports

    func publish(brakes: [BrakeCounts]) {
        shared.report.brakes = brakes
        report()
    }

    /// Reports for which apps this node does not send. Other nodes believe it for some seconds, so that it is called
    /// again while there are any.
    func publish(troubles: [GatewayTrouble]) {
        if troubles.isEmpty, shared.report.troubles.isEmpty { return }
        shared.report.troubles = troubles
        report()
    }

    private func report() {
        shared.isReportDue = true
        sendReport()
    }

    /// Stores the last report. While one is being stored, the next one waits and replaces those before it.
    private func sendReport() {
        guard shared.isReportDue, !shared.isReporting, !isClosed else { return }
        (shared.isReportDue, shared.isReporting) = (false, true)
        shared.number += 1
        let section = PostgreSQLSection()
        section.call(SharedStatements.report) { [settings, shared] parameters in
            parameters.append(text: settings.node)
            parameters.append(int8: shared.run)
            parameters.append(int8: shared.number)
            parameters.append(bytea: NodeReportRecord.bytes(shared.report))
        }
        reads.send(section, timeout: .seconds(10)) { [weak self] reply in
            guard let self else { return }
            shared.isReporting = false
            if case .done = reply { return sendReport() }
            shared.isReportDue = true
        }
    }

    // MARK: Reading

    /// Reads the shared state once a second, and passes it on.
    func followShared() {
        sendReport()
        let now = loop.now
        if shared.isReading || shared.readAt.map({ now - $0 < Self.readEvery }) ?? false { return }
        (shared.isReading, shared.readAt) = (true, now)
        let writes = shared.writes
        let section = PostgreSQLSection()
        // Reports are read first: the generation that one names is then among the marks.
        section.call(SharedStatements.reports) { [settings, known = shared.known] parameters in
            parameters.append(text: settings.node)
            parameters.append(int8Array: known.values.map(\.run))
            parameters.append(int8Array: known.values.map(\.number))
            parameters.append(int8: Self.maxReportBytes)
        }
        section.call(SharedStatements.marks)
        reads.send(section, timeout: .seconds(10)) { [weak self] reply in
            guard let self else { return }
            shared.isReading = false
            // Also from a reading that is not used for anything else: a few rows more or less do not matter.
            if case .done(let results) = reply, results.count == 2,
                let waiting = try? Self.operations(in: results[1])
            {
                published.withLock { $0.waitingOperations = waiting }
            }
            guard case .done(let results) = reply, writes == shared.writes, results.count == 2, !isClosed,
                var apps = try? Self.sharedApps(in: results[1], by: shared.author),
                let reports = try? Self.reports(in: results[0]),
                let events = try? Self.sharedEvents(in: results[1])
            else { return }
            for report in reports { shared.known[report.node] = (report.run, report.number) }
            shared.apps = apps
            apps.reports = reports
            apps.readAt = now
            settings.sharedRead(apps)
            publish(events, readAt: now)
        }
    }

    /// Returns the marks in the table, without those that this version does not understand.
    static func sharedApps(in result: PostgreSQLResult, by author: String) throws -> SharedApps {
        var apps = SharedApps()
        for row in result.rows {
            guard let app = AppID(try row.value(0, as: String.self)) else { continue }
            let (name, number) = (try row.value(2, as: String.self), try row.value(4, as: Int64.self))
            let numbers = try row.value(5, as: [Int64].self)
            switch try row.value(1, as: String.self) {
            case SharedStatements.pausedKind: apps.paused[app] = WallTime(milliseconds: try row.value(3))
            case SharedStatements.brakeKind:
                let isOwn = try row.value(6, as: String.self) == author
                apps.brakes[app] = SharedBrake(generation: number, isOn: numbers.first == 1, isOwn: isOwn)
            case SharedStatements.scaleKind:
                guard numbers.count == 4, let wanted = range(from: numbers[0], to: numbers[1]),
                    let configured = range(from: numbers[2], to: numbers[3]), name.isEmpty || NodeID(name) != nil
                else { continue }
                apps.scales.append(
                    SharedScale(app, node: NodeID(name), connections: wanted, configured: configured))
            case SharedStatements.webhookKind:
                apps.webhooks[app.name] = SharedWebhook(changes: number, standing: try row.value(6))
            default: continue
            }
        }
        return apps
    }

    private static func range(from low: Int64, to high: Int64) -> ClosedRange<Int>? {
        (0...high).contains(low) && high <= Int64(Int32.max) ? Int(low)...Int(high) : nil
    }

    private static func reports(in result: PostgreSQLResult) throws -> [ReceivedReport] {
        try result.rows.map { row in
            ReceivedReport(
                try row.value(0), run: try row.value(1), number: try row.value(2),
                // A report of another version has nothing that this one understands.
                report: NodeReportRecord.read(try row.value(3)) ?? NodeReport())
        }
    }
}

extension PostgreSQLLedger: SharedBrakes {
    package func decide(_ decision: BrakeDecision, reply: @escaping @Sendable (BrakeVerdict) -> Void) {
        let isTaken = order { $0.decide(decision, reply: reply) }
        if !isTaken { reply(.failed("the ledger is closed")) }
    }

    package func publish(_ counts: [BrakeCounts]) { _ = order { $0.publish(brakes: counts) } }

    /// Tells the other nodes for which apps this one does not send.
    package func publish(_ troubles: [GatewayTrouble]) { _ = order { $0.publish(troubles: troubles) } }

    /// Stores the number of connections that an operator wants for an app.
    package func scale(_ mark: SharedScale) async -> LedgerFault? {
        await withCheckedContinuation { continuation in
            let isTaken = order { $0.scale(mark) { continuation.resume(returning: $0) } }
            if !isTaken { continuation.resume(returning: LedgerFault("the ledger is closed")) }
        }
    }

    package func removeScales(of app: AppID) { _ = order { $0.removeScales(of: app) } }
}
