import PushLogic
import PushLoop
import PushModel
import PushPostgreSQL
import TestSupport

@testable import PushStore

/// A node of a test.
final class ClusterMember: Sendable {
    let name: String
    let shell: ClusterShell
    let permit: SendingPermit
    let host: RecordingHost
    let directory: TemporaryDirectory
    let events = EventRecorder<ClusterEvent>()
    let tables = EventRecorder<OwnerTable>()
    let warnings = EventRecorder<String>()
    /// The reason of the end.
    let ends = EventRecorder<String?>()
    let acknowledged = EventRecorder<SeenRenewal>()
    private let checker: ServingChecker

    /// - Parameters:
    ///   - directory: The data directory of an earlier process of this node.
    ///   - seen: The last renewal of that process.
    init(
        _ name: String, _ options: PostgreSQLOptions, _ checker: ServingChecker, lease: Duration = .seconds(2),
        in directory: TemporaryDirectory? = nil, seen: SeenRenewal? = nil,
        durability: PostgreSQLDurability = .single
    ) async throws {
        self.name = name
        self.checker = checker
        self.directory = try directory ?? TemporaryDirectory()
        permit = SendingPermit()
        host = RecordingHost(name, permit: permit, checker: checker)
        var settings = Self.settings(name, options, lease: lease, in: self.directory)
        settings.hooks.event = { [events] in events.record($0) }
        settings.hooks.warning = { [warnings] in warnings.record($0) }
        settings.hooks.owners = { [tables] in tables.record($0) }
        settings.hooks.end = { [ends] in ends.record($0) }
        settings.hooks.acknowledged = { [acknowledged] in acknowledged.record($0) }
        settings.session.durability = durability
        settings.seen = seen
        shell = try await ClusterShell.open(settings, host: host, permit: permit)
    }

    static func settings(
        _ name: String, _ options: PostgreSQLOptions, lease: Duration, in directory: TemporaryDirectory
    ) -> ClusterShell.Settings {
        var settings = ClusterShell.Settings(
            NodeID(name)!, contact: NodeContact(address: "tcp://\(name):1", publicKey: "key of \(name)"),
            policy: ClusterPolicy(lease: lease), directory: directory.path, options: options,
            resolver: { [$0.name] })
        settings.session.durability = .single
        settings.version = "test"
        return settings
    }

    /// Ends as a process does that is killed: without a word to the database, and without a call of the host.
    func kill() async {
        await shell.abandon()
        checker.stopAll(by: name)
    }

    static func close(_ members: ClusterMember...) async {
        for member in members { await member.shell.close() }
    }
}
