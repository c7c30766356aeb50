import Glibc
import PushAPI
package import PushConfiguration
import PushLoop
import PushModel
import PushStore
import PushTransport

/// Answers questions about a data directory on which no Carillon runs.
///
/// It locks the directory, opens its files as the next start of Carillon does, and serves the endpoints that only read on
/// a control socket. Clients therefore see what they would see if Carillon were running.
package struct StoppedReader: Sendable {
    private let lock: DataLock
    private let loop: EventLoop
    private let control: APIServer
    private let ledger: SQLiteLedger
    private let registry: SQLiteRegistry
    private let streams: EventStreams

    /// Whether the directory has a ledger.
    ///
    /// - Throws: ``StartError`` if this user cannot find out.
    package static func hasLedger(in directory: String) throws(StartError) -> Bool {
        let path = "\(directory)/\(BackupFile.ledger)"
        guard access(path, F_OK) != 0 else { return true }
        guard errno != ENOENT, errno != ENOTDIR else { return false }
        throw cannotOpen(directory, because: "\(SystemError.current) at \(path)", code: .notPermitted)
    }

    /// Opens the directory.
    ///
    /// - Parameter place: The directory in which the control socket is made. It is not that of the files, where other
    ///   verbs would take it for the socket of a running Carillon.
    package init(of directory: String, socketIn place: String) async throws {
        lock = try Self.locked(directory)
        var settings = SQLiteLedger.Settings(directory: directory)
        settings.reached = OperatorsFile.newest(in: directory)
        // Nothing that is stored is removed because of its age.
        settings.retention.window = .seconds(100 * 366 * 86_400)
        settings.retention.logAge = settings.retention.window
        settings.retention.logBytes = .max
        let (ledger, _) = try await SQLiteLedger.open(settings)
        let registry: SQLiteRegistry
        do {
            registry = try await SQLiteRegistry.open(
                directory: directory, identities: ledger.identities, note: { await ledger.note($0) })
        } catch {
            await ledger.close()
            throw error
        }
        let loop = EventLoop(name: "stopped")
        let streams = EventStreams()
        do {
            // Devices that the last events deactivate are inactive, as after a start.
            try await registry.catchUp(from: ledger)
            await registry.publishOwed()
            control = try await APIServer(
                at: .socket(path: "\(place)/\(ControlSocket.fileName)"), on: loop, limits: .controlSocket,
                table: EndpointTable(
                    PipelineEndpoints.reading(
                        on: loop, streams: streams, devices: registry, events: ledger, waiting: CommittedEvents(),
                        identities: ledger.identities,
                        apps: AppCatalog(nil, others: PushServices.unconfigured))),
                access: ControlAccess(),
                journal: OperatorJournal { [lock] changes, _, done in
                    // A copy of a directory that this user cannot write may still be read.
                    for change in changes { try? PendingOperators(directory: lock.directory).add(change) }
                    done()
                })
        } catch {
            await registry.close()
            await ledger.close()
            await loop.shutDown()
            throw error
        }
        (self.loop, self.streams, self.ledger, self.registry) = (loop, streams, ledger, registry)
    }

    package func close() async {
        await streams.end()
        await control.stop()
        await registry.close()
        await ledger.close()
        await loop.shutDown()
    }

    private static func locked(_ directory: String) throws(StartError) -> DataLock {
        do {
            return try DataLock(directory: directory)
        } catch {
            guard error.code == .tryAgain else {
                throw cannotOpen(directory, because: error.description, code: error.code)
            }
            throw StartError(
                .tryAgain,
                "a Carillon runs on the data directory \(directory), but does not answer on its control socket: it "
                    + "starts, ends or hangs, or another verb reads its files; try again")
        }
    }

    private static func cannotOpen(_ directory: String, because reason: String, code: StartError.Code) -> StartError {
        StartError(
            code,
            "cannot read the files of \(directory): \(reason); use the account that Carillon runs as, or root, or make "
                + "a copy with 'cp -a' and name it with --data")
    }
}
