import ActiveObject
import PushLoop
package import PushModel
package import PushTime

/// The registered devices of all apps on disk, and in memory which are inactive or of another kind than most.
///
/// All access uses records; this target has no SQL for the registry. Transactions run one after the other, and memory
/// is updated in the same order. Reads run in parallel; each page is read from one state of the file.
package final class SQLiteRegistry: RegistryEngine, DeviceWriter {
    /// The maximum number of ids or texts in one statement.
    static let listLimit = 500
    /// The maximum number of devices in a page.
    static let largestPage = 10_000

    let database: Database
    let identities: Identities
    let options: RegistryOptions
    let note: RegistryNote
    let now: @Sendable () -> WallTime
    let gone = SharedDeviceSet()
    let emptied = SharedDeviceSet()
    let others = SharedDeviceSet()
    let unknown: UnknownDevices
    let keyBook: RegistryKeys
    let turn = WriteTurn(limit: 4096)
    let calls = RegistrationCalls()
    let named = NamedAudiences()
    let activityObserver = ActivityObserver()
    let owners = SharedOwnerChanges()
    let owed = OwedEvents()
    let updated = UpdatedDevices()
    let choices = TagChoices()
    let smallAudiences: SmallAudiences
    /// The files that must keep their names. Without them, nothing is written.
    let files: OpenedFiles
    let state = Locked(State())

    struct State {
        var status = RegistryStatus()
        /// The part of `status.applied` that is stored in the file.
        var marked: UInt64 = 0
        /// The time of the last write.
        var stamp = WallTime.distantPast
        /// Whether the log is to be compared with the devices, because the last process was killed.
        var mayLackEvents = false
    }

    var addressLimits: AddressLimits { options.addressLimits }
    package var inactive: any DeviceSet { gone }
    package var erased: any DeviceSet { emptied }
    package var ownerChanges: any OwnerChanges { owners }
    package var ofOtherKinds: any DeviceSet { others }
    package var keys: any APIKeyStore { keyBook }

    package var status: RegistryStatus {
        state.withLock { state in
            var status = state.status
            status.inactive = gone.count
            return status
        }
    }

    /// Opens or creates `registry.db` and loads the inactive devices. Call ``RegistryEngine/catchUp(from:)``
    /// afterwards.
    ///
    /// - Parameters:
    ///   - files: the open files of the directory, to which this adds its own.
    ///   - note: hands events to the ledger.
    ///   - now: returns the current time.
    package static func open(
        directory: String, identities: Identities, options: RegistryOptions = RegistryOptions(),
        files: OpenedFiles = OpenedFiles(), note: @escaping RegistryNote,
        now: @escaping @Sendable () -> WallTime = { .current() }
    ) async throws -> SQLiteRegistry {
        let path = directory + "/registry.db"
        let wasKilled = wasKilled(path)
        let database = try await RegistrySchema.open(path, cacheBytes: options.cacheBytes)
        do {
            let registry = try SQLiteRegistry(
                database, await RegistryKeys(in: database, among: files), identities, options, files, note, now)
            try await registry.keepSecret(in: directory)
            try await registry.recall()
            registry.state.withLock { $0.mayLackEvents = wasKilled }
            files.add(database: path)
            return registry
        } catch {
            await database.close()
            throw error
        }
    }

    private init(
        _ database: Database, _ keys: RegistryKeys, _ identities: Identities, _ options: RegistryOptions,
        _ files: OpenedFiles, _ note: @escaping RegistryNote, _ now: @escaping @Sendable () -> WallTime
    ) throws {
        smallAudiences = try SmallAudiences()
        self.database = database
        self.files = files
        keyBook = keys
        self.identities = identities
        self.options = options
        self.note = note
        self.now = now
        unknown = UnknownDevices(limit: options.unknownLimit)
    }

    /// Waits for running operations and closes the file. Later calls throw an error.
    package func close() async {
        try? await turn.take { try await writeMark() }
        await database.close()
    }

    /// Stores the key of the ids if the file does not have it.
    ///
    /// - Throws: ``StoreError`` if the file has another one.
    private func keepSecret(in directory: String) async throws {
        let own = DeviceSecret(identities)
        try await database.write { transaction in
            guard let stored = try DeviceSecret.find(DeviceSecret.row, in: transaction) else {
                try DeviceSecret.upsertAll([own], on: \.objectId, in: transaction)
                return
            }
            guard stored.secret == own.secret else { throw StoreMismatch(hasSecret: true).error(in: directory) }
        }
    }

    /// Loads the state in memory from the file.
    private func recall() async throws {
        let (gone, others, emptied) = (gone, others, emptied)
        // Use a write transaction: it creates the tables, so that reads never have to.
        let (mark, all, unregistered) = try await database.write { transaction in
            var unregistered = 0
            try Device.where(\.deactivatedAt != nil || \.kind != nil).forEach(in: transaction) { device in
                if device.kind != nil { others.insert(device.deviceId) }
                guard !device.isActive else { return }
                gone.insert(device.deviceId)
                if device.isEmptied { emptied.insert(device.deviceId) }
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

    /// Returns the time for a write, later than that of the write before. A device that registers in the millisecond
    /// in which it was deactivated therefore stays active, even when the deactivation is read again.
    func stamp() -> WallTime {
        let now = now()
        return state.withLock { state in
            state.stamp = Self.stamp(after: state.stamp, at: now)
            return state.stamp
        }
    }

    // MARK: Lookup

    package func sightings(of devices: [DeviceID]) async throws -> [Sighting?] {
        let writes = unknown.writes
        let wanted = Array(Set(devices.filter { !unknown.contains($0) }))
        guard !wanted.isEmpty else { return devices.map { _ in nil } }
        let found = try await database.read { snapshot in
            try Device.find(wanted, in: snapshot).map {
                ($0.deviceId, Sighting(seen: $0.lastSeen, address: $0.token.token, timeZone: $0.timeZone))
            }
        }
        let sightings = Dictionary(found) { one, _ in one }
        unknown.add(wanted.filter { sightings[$0] == nil }, readAfter: writes)
        return devices.map { sightings[$0] }
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
            let part =
                if let tag = filter.tag {
                    try RowPage.read(filter.query, .tag(tag), choices, after: row, limit: size, in: snapshot)
                } else {
                    try RowPage.read(filter.queries, after: row, limit: size, in: snapshot)
                }
            let tags = try Device.tags.load(for: part.devices, in: snapshot)
            return DeviceList(
                devices: try part.devices.map { try $0.record($0.objectId.flatMap { tags[$0] } ?? []) },
                next: part.next.map { AudienceCursor(row: $0) })
        }
    }
}

extension DeviceFilter {
    /// The query; for the devices of a user in an app one for each kind. Only with the kind does SQLite find them by the
    /// user: otherwise it reads all devices of the app.
    var queries: [Query<Device>] {
        guard app != nil, user != nil, kind == nil else { return [query] }
        return AddressKind.allCases.map { query.where(\.kind == Device.number(of: $0)) }
    }

    fileprivate var query: Query<Device> {
        var query = Device.query
        if let app { query = query.where(\.app == app.name) }
        if let user { query = query.where(\.user == user) }
        if let kind { query = query.where(\.kind == Device.number(of: kind)) }
        if let installation { query = query.where(\.installation == installation) }
        if let activity { query = query.where(\.activity == activity) }
        switch isActive {
        case true?: query = query.where(\.deactivatedAt == nil)
        case false?: query = query.where(\.deactivatedAt != nil)
        case nil: break
        }
        return query
    }
}

extension StoreError.Code {
    init(opening code: ActiveObjectError.Code) {
        switch code {
        case .corrupt: self = .damaged
        case .diskFull: self = .full
        default: self = .cannotOpen
        }
    }
}
