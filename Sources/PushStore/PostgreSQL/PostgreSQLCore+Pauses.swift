import PushLoop
import PushModel
import PushPostgreSQL
import PushTime

/// The apps that operators pause, on any node of the cluster.
extension PostgreSQLCore {
    /// The pauses as this node knows them.
    struct Pauses {
        var apps: [AppID: WallTime]
        /// The number of writes of this node that have begun or ended. A reading that a write has overtaken is of no use.
        var writes = 0
        var readAt: MonotonicTime?
        var isReading = false
    }

    private static let readEvery: Duration = .seconds(1)

    func pause(_ app: AppID, since time: WallTime?, reply: @escaping @Sendable (LedgerFault?) -> Void) {
        let section = PostgreSQLSection()
        if let time {
            section.call(StoreStatements.setPaused) { parameters in
                parameters.append(text: app.name)
                parameters.append(int8: time.milliseconds)
            }
        } else {
            section.call(StoreStatements.removePaused) { $0.append(text: app.name) }
        }
        pauses.writes += 1
        reads.send(section, timeout: .seconds(30)) { [weak self] result in
            self?.pauses.writes += 1
            switch result {
            case .done:
                self?.pauses.apps[app] = time
                reply(nil)
            case .refused(let failure): reply(LedgerFault("\(failure)"))
            case .unknown(let reason), .notSent(let reason): reply(LedgerFault(reason))
            }
        }
    }

    /// Reads the pauses once a second, and reports those that another node has begun or ended.
    func followPauses() {
        let now = loop.now
        if pauses.isReading || pauses.readAt.map({ now - $0 < Self.readEvery }) ?? false { return }
        (pauses.isReading, pauses.readAt) = (true, now)
        let writes = pauses.writes
        let section = PostgreSQLSection()
        section.call(StoreStatements.paused)
        reads.send(section, timeout: .seconds(10)) { [weak self] reply in
            guard let self else { return }
            pauses.isReading = false
            guard case .done(let results) = reply, writes == pauses.writes, let result = results.first,
                let apps = try? Self.pausedApps(in: result), apps != pauses.apps
            else { return }
            pauses.apps = apps
            settings.pausesChanged(apps)
        }
    }

    /// Returns the apps in the table, without those whose names this version does not allow.
    static func pausedApps(in result: PostgreSQLResult) throws -> [AppID: WallTime] {
        var paused: [AppID: WallTime] = [:]
        for row in result.rows {
            guard let app = AppID(try row.value(0, as: String.self)) else { continue }
            paused[app] = WallTime(milliseconds: try row.value(1))
        }
        return paused
    }
}
