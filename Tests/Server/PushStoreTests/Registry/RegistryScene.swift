import Foundation
import PushLoop
import PushModel
import PushPostgreSQL
import PushTime
import PushWire
import Testing

@testable import PushStore

/// The engine of a registry. The same tests run over all of them.
enum RegistryKind: String, CaseIterable, Sendable {
    case sqlite, postgresql
}

/// A registry in a temporary folder or in a database of its own, with a clock that only the test advances and a log in memory that numbers events
/// with the real writer.
final class RegistryScene: Sendable {
    static let identities = Identities(secret: Array(1...32))!
    static let shop = AppID("shop")!
    static let news = AppID("news")!

    let folder: String
    /// How to connect to the database; nil if the registry is in a file.
    let database: PostgreSQLOptions?
    let log = MemoryLog()
    let clock = Locked(WallTime(milliseconds: 1_000_000))

    private init(_ folder: String, _ database: PostgreSQLOptions? = nil) {
        self.folder = folder
        self.database = database
    }

    static func run<Result>(
        on kind: RegistryKind = .sqlite, _ body: (RegistryScene) async throws -> Result
    ) async throws -> Result {
        let folder = FileManager.default.temporaryDirectory.appending(path: "registry-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        let database =
            switch kind {
            case .sqlite: PostgreSQLOptions?.none
            case .postgresql: try await SharedPostgreSQL.shared.store(parts: 1, at: 1_700_000_000_000)
            }
        return try await body(RegistryScene(folder.path(), database))
    }

    /// Runs `body` with two nodes of one store.
    static func nodes(
        _ body: (PostgreSQLRegistry, PostgreSQLRegistry, RegistryScene) async throws -> Void
    ) async throws {
        try await run(on: .postgresql) { scene in
            let database = try #require(scene.database)
            let (one, other) = (try await scene.openStored(database), try await scene.openStored(database))
            try await body(one, other, scene)
            await one.close()
            await other.close()
        }
    }

    /// Runs `body` with an open registry.
    static func open<Result>(
        on kind: RegistryKind = .sqlite, _ options: RegistryOptions = RegistryOptions(),
        _ body: (any RegistryEngine, RegistryScene) async throws -> Result
    ) async throws -> Result {
        try await run(on: kind) { scene in
            let registry = try await scene.open(options)
            let result = try await body(registry, scene)
            await registry.close()
            return result
        }
    }

    func open(_ options: RegistryOptions = RegistryOptions()) async throws -> any RegistryEngine {
        if let database { return try await openStored(database, options) }
        return try await SQLiteRegistry.open(
            directory: folder, identities: Self.identities, options: options, note: note, now: now(of: clock))
    }

    /// Opens a registry of a database. It follows other nodes when the test says so.
    func openStored(
        _ database: PostgreSQLOptions, _ options: RegistryOptions = RegistryOptions(),
        _ change: (inout PostgreSQLRegistry.Settings) -> Void = { _ in }
    ) async throws -> PostgreSQLRegistry {
        var settings = PostgreSQLRegistry.Settings(SharedPostgreSQL.settings(database))
        settings.options = options
        settings.now = now(of: clock)
        settings.followEvery = .seconds(3600)
        change(&settings)
        return try await PostgreSQLRegistry.open(settings, identities: Self.identities, note: note)
    }

    private var note: RegistryNote {
        { [log, clock] in log.note($0, at: clock.withLock { $0 }) }
    }

    private func now(of clock: Locked<WallTime>) -> @Sendable () -> WallTime { { clock.withLock { $0 } } }

    /// Returns ids of devices in the order in which the engine lists them: that of their registration, or of the ids.
    func ordered(_ registered: [DeviceID]) -> [DeviceID] { database == nil ? registered : registered.sorted() }

    /// Copies the files of the registry, as they are now, into a subfolder.
    func copied(to name: String) throws -> RegistryScene {
        let copy = RegistryScene(folder + "/" + name)
        try FileManager.default.createDirectory(atPath: copy.folder, withIntermediateDirectories: true)
        for file in ["registry.db", "registry.db-wal"] {
            try FileManager.default.copyItem(atPath: "\(folder)/\(file)", toPath: "\(copy.folder)/\(file)")
        }
        return copy
    }

    var now: WallTime {
        get { clock.withLock { $0 } }
        set { clock.withLock { $0 = newValue } }
    }

    static func token(_ number: Int) -> Address {
        Address(words: (UInt64(number) &+ 1, 2, 3, 4))
    }

    static func id(_ number: Int, _ app: AppID = shop) -> DeviceID { identities.device(of: app, token: token(number)) }

    static func registration(
        _ number: Int, _ app: AppID = shop, user: String? = nil, tags: [String]? = nil
    ) -> DeviceRegistration {
        var registration = DeviceRegistration(app: app, token: token(number))
        registration.user = user
        registration.tags = tags
        return registration
    }

    /// Returns the event that feedback would write.
    ///
    /// - Parameter isEarly: Whether it is written as early versions did: with the evidence among the details.
    static func deactivated(
        _ id: DeviceID, _ app: AppID = shop, reason: String = "Unregistered", evidence: WallTime, isEarly: Bool = false
    ) -> EventDraft {
        var event = EventDraft.deactivated(Deactivation(of: id, app: app, reason: reason, evidence: evidence))
        if isEarly {
            event.evidence = nil
            event.add("time", number: evidence.milliseconds)
        }
        return event
    }
}

/// An event log in memory that takes the place of the ledger.
final class MemoryLog: EventLog {
    struct State: Sendable {
        var writer = LogWriter(next: 1)
        var segments: [LogSegment] = []
        var events: [EventDraft] = []
        var refuses = false
        var reads = 0
        /// The number of reads that fail before one succeeds.
        var failures = 0
    }

    let state = Locked(State())

    var events: [EventDraft] { state.withLock { $0.events } }
    var segments: [LogSegment] { state.withLock { $0.segments } }

    @discardableResult
    func note(_ drafts: [EventDraft], at time: WallTime) -> UInt64? {
        state.withLock { state in
            if state.refuses { return nil }
            state.writer.begin(time: time, reserving: 256)
            for draft in drafts { state.writer.add(draft, at: time) }
            let segment = state.writer.finish()
            state.segments.append(segment)
            state.events += drafts
            return segment.first
        }
    }

    func read(since: UInt64, limit: Int) async throws -> LogPage {
        try state.withLock { state in
            state.reads += 1
            if state.failures > 0 {
                state.failures -= 1
                throw SceneError.unreadable
            }
            var segments: [LogSegment] = []
            for segment in state.segments where segment.last > since {
                if segments.reduce(0, { $0 + $1.count }) >= limit { break }
                segments.append(segment)
            }
            return LogPage(
                segments: segments, oldest: state.segments.first?.first ?? state.writer.next,
                newest: state.writer.next - 1)
        }
    }

    func trace(_ subject: TraceSubject, limit: Int) async throws -> [LogSegment] { [] }
}

extension RegistryEngine {
    /// Returns the devices of all pages of an audience. Throws if a page is larger than allowed.
    func all(_ audience: Audience, _ app: AppID = RegistryScene.shop, limit: Int = 100) async throws -> [DeviceID] {
        var devices: [DeviceID] = []
        var cursor: AudienceCursor?
        repeat {
            let page = try await page(of: audience, app: app, kind: .alert, after: cursor, limit: limit)
            guard page.devices.count <= limit else { throw SceneError.pageTooLarge }
            devices += page.devices.map(\.id)
            cursor = page.next
        } while cursor != nil
        return devices
    }
}

enum SceneError: Error {
    case pageTooLarge, unreadable
}
