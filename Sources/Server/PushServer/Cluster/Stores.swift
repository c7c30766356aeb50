import PushAPI
import PushConfiguration
import PushLoop
import PushModel
import PushStore
import PushTransport

/// The stores of a server: files in the data directory, or a database that the nodes of a cluster share.
struct Stores: Sendable {
    let ledger: any LedgerEngine
    let registry: any RegistryEngine
    /// What waited when the ledger was opened. In a cluster, messages come later, with their partitions.
    let backlog: LedgerBacklog
    /// The place of the key that encrypts the secrets of API keys.
    let sealing: SealingKeySource
    /// The part of this node in its cluster; nil for files.
    let node: ServedNode?
    let addressLimits: AddressLimits

    /// Why messages to families cannot be accepted; nil if they can.
    var familyFault: String? {
        guard let shared = ledger as? PostgreSQLLedger, shared.map.rule != .id else { return nil }
        return "the database was set up by an earlier version and keeps the messages of different apps apart, so that "
            + "a message to several cannot be stored at once; send to each app, or set up a new database"
    }

    struct Dependencies: Sendable {
        let directory: String
        /// The version of the program, which other nodes show.
        let version: String
        let loop: EventLoop
        let resolver: NameResolver
        let log: Logger
        let commits: Histogram
        let clock: SharedClock
        /// Ends the server, because this node cannot be a member of its cluster any more.
        let halt: @Sendable () -> Void
    }

    /// Opens the stores that the configuration names. If one cannot be opened, the others are closed.
    static func open(
        _ configuration: Configuration, _ retention: LedgerRetention, on dependencies: Dependencies
    ) async throws -> Stores {
        let limits = AddressLimits(configuration.addressLimits)
        if let store = configuration.store, let cluster = configuration.cluster {
            return try await ServedNode.open(store, cluster, retention, limits, on: dependencies)
        }
        return try await openFiles(retention, limits: limits, on: dependencies)
    }

    private static func openFiles(
        _ retention: LedgerRetention, limits: AddressLimits, on dependencies: Dependencies
    ) async throws -> Stores {
        let log = dependencies.log
        var settings = SQLiteLedger.Settings(directory: dependencies.directory)
        let registryPath = "\(settings.directory)/registry.db"
        settings.retention = retention
        settings.reached = OperatorsFile.newest(in: settings.directory)
        settings.eventsMissing = { log.eventsMissing($0) }
        settings.files.add(["\(settings.directory)/\(BackupFile.lock)"])
        settings.committed = { [commits = dependencies.commits] in commits.observe($0) }
        settings.eventsDropped = { log.eventsLost($0) }
        settings.indexDamaged = { part in
            log.error(
                "\(part) is damaged: traces read the log instead, which takes longer; check the disk",
                [.event: "ledger.damaged"])
        }
        let (ledger, backlog) = try await SQLiteLedger.open(settings)
        do {
            if let lost = try LostTransactions.removed(from: registryPath) { log.registrationsLost(lost) }
            var options = RegistryOptions()
            options.addressLimits = limits
            let registry = try await SQLiteRegistry.open(
                directory: settings.directory, identities: ledger.identities, options: options, files: settings.files,
                note: { await ledger.note($0) })
            return Stores(
                ledger: ledger, registry: registry, backlog: backlog,
                sealing: .file("\(settings.directory)/\(KeyRegistrar.sealingFileName)"), node: nil,
                addressLimits: limits)
        } catch {
            await ledger.close()
            throw error
        }
    }
}

extension Logger {
    fileprivate func eventsMissing(_ missing: MissingEvents) {
        if let lost = missing.transactions {
            error(
                """
                the write-ahead log of ledger.db is damaged: what its last transactions had written is lost, messages, \
                ids and events; check the disk. A copy of the log is kept, and event numbers go on above those that are lost
                """,
                [.event: "ledger.damaged", .count: lost.count, .file: lost.copy, .next: Int(clamping: missing.next)])
        } else {
            error(
                """
                ledger.db ends before events that other files of the directory know: it was lost, cut or replaced by an \
                older copy; stop and restore a backup. Event numbers go on above those that are lost
                """,
                [
                    .event: "ledger.damaged", .newest: Int(clamping: missing.newest),
                    .next: Int(clamping: missing.next),
                ])
        }
    }

    fileprivate func registrationsLost(_ lost: LostTransactions) {
        error(
            """
            the write-ahead log of registry.db is damaged: the last registrations and changes of devices and API keys are \
            lost; check the disk. A copy of the log is kept
            """,
            [.event: "registry.damaged", .count: lost.count, .file: lost.copy])
    }

    func eventsLost(_ count: UInt64) {
        error(
            "events lost: the ledger could not write them, and no monitor will get them",
            [.event: "events.lost", .count: Int(clamping: count)])
    }
}
