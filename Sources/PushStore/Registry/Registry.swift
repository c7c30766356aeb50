import ActiveObject
import PushLoop
package import PushModel
import PushTime

/// Every device that the apps registered, on disk, and those that are known to be gone, in memory too.
///
/// All of it is records; there is no SQL here. Writing is one transaction after the other, and memory follows the file
/// in that order. Reading is beside it, each page of one state of the file.
package final class Registry: DeviceRegistry, DeviceBook {
    /// Events for the ledger: returns the number of the first when the disk has them, nil if it could not take them.
    package typealias Note = @Sendable ([EventDraft]) async -> UInt64?

    package struct Options: Sendable {
        /// Memory for pages, for the connection that writes and the two that read. Default 16 MiB each.
        package var cacheBytes = 16 << 20
        /// Devices that nobody registered and feedback told of: the oldest are forgotten beyond so many, and learned
        /// again if somebody sends to them. Default 1,000,000.
        package var unregisteredLimit = 1_000_000
        /// Devices that are remembered not to be in the file. Default 100,000.
        package var unknownLimit = 100_000
        /// Events after which the number of the last one is written although none of them changed anything: so many are
        /// read again at most after a crash. Default 100,000.
        package var markEvery: UInt64 = 100_000

        package init() {}
    }

    package struct Status: Sendable, Equatable {
        /// The number of the last event that was applied.
        package var applied: UInt64 = 0
        /// Registered at some time, whatever became of them.
        package var registered = 0
        /// Known to be gone, and of these never registered.
        package var inactive = 0
        package var unregistered = 0
        /// Events that the ledger did not take, of registrations that stand.
        package var unpublished: UInt64 = 0
        /// Parts of the event log that could not be read.
        package var damaged: UInt64 = 0

        package init() {}
    }

    /// Blobs or texts in one look-up.
    static let listLimit = 500
    /// Devices in one page, whoever asks.
    static let largestPage = 10_000

    let database: Database
    let identities: Identities
    let options: Options
    let note: Note
    /// Milliseconds since 1970.
    let now: @Sendable () -> Int64
    let gone = GoneDevices()
    let unknown: UnknownDevices
    let turn = WriteTurn(limit: 4096)
    let calls = RegistrationCalls()
    let named = NamedAudiences()
    let choices = TagChoices()
    let state = Locked(State())

    struct State {
        var status = Status()
        /// What of `status.applied` is in the file.
        var marked: UInt64 = 0
        /// Of the last write.
        var stamp: Int64 = .min
    }

    package var inactive: any InactiveDevices { gone }

    package var status: Status {
        state.withLock { state in
            var status = state.status
            status.inactive = gone.count
            return status
        }
    }

    /// Opens `registry.db`, or makes it, and reads who is gone. `catchUp` comes next.
    ///
    /// - Parameters:
    ///   - note: hands events to the ledger.
    ///   - now: milliseconds since 1970.
    package static func open(
        directory: String, identities: Identities, options: Options = Options(), note: @escaping Note,
        now: @escaping @Sendable () -> Int64 = { WallTime.current().milliseconds }
    ) async throws -> Registry {
        var settings = Database.Options()
        settings.cacheBytes = options.cacheBytes
        let path = directory + "/registry.db"
        PrivateFile.prepare(path)
        let database: Database
        do {
            database = try await Database.open(path, name: nil, options: settings)
        } catch let error as ActiveObjectError {
            throw StoreError(StoreError.Code(opening: error.code), error.description)
        }
        let registry = Registry(database, identities, options, note, now)
        do {
            try await registry.recall()
        } catch {
            await database.close()
            throw error
        }
        return registry
    }

    private init(
        _ database: Database, _ identities: Identities, _ options: Options, _ note: @escaping Note,
        _ now: @escaping @Sendable () -> Int64
    ) {
        self.database = database
        self.identities = identities
        self.options = options
        self.note = note
        self.now = now
        unknown = UnknownDevices(limit: options.unknownLimit)
    }

    /// Waits for what is under way. What is called later throws.
    package func close() async {
        try? await turn.take { try await writeMark() }
        await database.close()
    }

    /// Fills the memory from the file, one row after the other.
    private func recall() async throws {
        let gone = gone
        // The tables are made here, so that nothing that reads has to.
        let (mark, all, unregistered) = try await database.write { transaction in
            var unregistered = 0
            try Device.where(\.deactivatedAt != nil).forEach(in: transaction) { device in
                gone.insert(device.deviceId)
                if device.registeredAt == nil { unregistered += 1 }
            }
            _ = try DeviceTag.exists(0, in: transaction)
            let mark = try AppliedMark.find(AppliedMark.row, in: transaction)?.number ?? 0
            return (mark, try Device.countAll(in: transaction), unregistered)
        }
        state.withLock { state in
            state.status.applied = mark
            state.status.registered = all - unregistered
            state.status.unregistered = unregistered
            state.marked = mark
        }
    }

    /// The time of a write, later than that of any before: who registers in the millisecond in which he was deactivated
    /// is alive, also when that event is read again.
    func stamp() -> Int64 {
        let now = now()
        return state.withLock { state in
            state.stamp = state.stamp >= now ? state.stamp + 1 : now
            return state.stamp
        }
    }

    // MARK: Looking up

    package func lastSeen(_ devices: [DeviceID]) async throws -> [Int64?] {
        let writes = unknown.writes
        let wanted = Array(Set(devices.filter { !unknown.contains($0) }))
        guard !wanted.isEmpty else { return devices.map { _ in nil } }
        let found = try await database.read { snapshot in
            try Device.find(wanted, in: snapshot).map { ($0.deviceId, $0.lastSeen) }
        }
        let seen = Dictionary(found) { one, _ in one }
        unknown.add(wanted.filter { seen[$0] == nil }, readAfter: writes)
        return devices.map { seen[$0] ?? nil }
    }

    package func device(_ id: DeviceID) async throws -> DeviceRecord? {
        try await database.read { snapshot in
            guard let device = try Device.first(where: \.deviceId == id, in: snapshot) else { return nil }
            return try device.record(Device.tags.load(for: device, in: snapshot))
        }
    }

    package func list(_ filter: DeviceFilter, after cursor: AudienceCursor?, limit: Int) async throws -> DeviceList {
        let row = try cursor?.row() ?? 0
        let size = min(max(1, limit), Self.largestPage)
        return try await database.read { [choices] snapshot in
            let part = try RowPage.read(
                filter.query, filter.tag.map { .tag($0) }, choices, after: row, limit: size, in: snapshot)
            let tags = try Device.tags.load(for: part.devices, in: snapshot)
            return DeviceList(
                devices: try part.devices.map { try $0.record($0.objectId.flatMap { tags[$0] } ?? []) },
                next: part.next.map { AudienceCursor(row: $0) })
        }
    }
}

extension DeviceFilter {
    fileprivate var query: Query<Device> {
        var query = Device.query
        if let app { query = query.where(\.app == app.name) }
        if let user { query = query.where(\.user == user) }
        switch isActive {
        case true?: query = query.where(\.deactivatedAt == nil)
        case false?: query = query.where(\.deactivatedAt != nil)
        case nil: break
        }
        return query
    }
}

extension StoreError.Code {
    fileprivate init(opening code: ActiveObjectError.Code) {
        switch code {
        case .corrupt: self = .damaged
        case .diskFull: self = .full
        default: self = .cannotOpen
        }
    }
}
