import PushAdmin
import PushConfiguration
import PushLoop
import PushModel
import PushStore
import PushTransport

/// Answers questions about a data directory on which no Carillon runs.
///
/// It opens a ``StoppedCopy`` as a server opens its data directory, and serves the endpoints that only read on a control
/// socket within it. Clients therefore see what they would see if Carillon were running.
package struct StoppedReader: Sendable {
    private let loop: EventLoop
    private let control: AdminServer
    private let ledger: SQLiteLedger
    private let registry: SQLiteRegistry
    private let streams: EventStreams

    /// Opens the view.
    ///
    /// - Throws: ``StartError`` whose text names the directory that is shown.
    package static func open(_ copy: StoppedCopy) async throws -> StoppedReader {
        do {
            return try await StoppedReader(directory: copy.directory)
        } catch let error as StoreError {
            try copy.checkSource()
            // The text is about the file in the copy, which nobody knows.
            guard error.code != .full else {
                throw StartError(
                    .failed,
                    "there is no room to read \(copy.source) in \(copy.directory); set TMPDIR to a directory with more room"
                )
            }
            throw StartError(.failed, error.description.replacing(copy.directory, with: copy.source))
        }
    }

    private init(directory: String) async throws {
        var settings = SQLiteLedger.Settings(directory: directory)
        // Nothing that is stored is left out because of its age.
        settings.retention.window = .seconds(100 * 366 * 86_400)
        settings.retention.logAge = settings.retention.window
        settings.retention.logBytes = .max
        let (ledger, _) = try await SQLiteLedger.open(settings)
        let registry: SQLiteRegistry
        do {
            registry = try await SQLiteRegistry.open(
                directory: directory, identities: ledger.identities, note: { _ in nil })
        } catch {
            await ledger.close()
            throw error
        }
        let loop = EventLoop(name: "stopped")
        let streams = EventStreams()
        do {
            // Devices that the last events deactivate are inactive, as after a start.
            try await registry.catchUp(from: ledger)
            control = try await AdminServer(
                at: .socket(path: "\(directory)/\(ControlSocket.fileName)"), on: loop, limits: .controlSocket,
                table: EndpointTable(
                    PipelineEndpoints.reading(
                        on: loop, streams: streams, devices: registry, events: ledger, waiting: CommittedEvents(),
                        identities: ledger.identities)),
                door: ControlDoor())
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
}
