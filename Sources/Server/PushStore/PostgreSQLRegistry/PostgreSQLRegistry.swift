import PushLoop
package import PushModel
package import PushTime

/// The registry of a cluster, in PostgreSQL: all nodes read and write the same devices, and each holds the inactive ones
/// in memory.
///
/// A write is one statement, which compares the devices with what the node has read: if another node has changed one of
/// them in between, nothing is written, and the node reads and decides anew. So the rules are those of a single node.
///
/// Each node applies the deactivations of the parts of the log that it carries out, and learns of all other changes from
/// the table `device_changes`, which it reads every second. Nodes need not read the logs of each other for this.
package final class PostgreSQLRegistry: RegistryEngine, DeviceWriter {
    package struct Settings: Sendable {
        /// How to connect.
        package var store: PostgreSQLLedger.Settings
        package var options = RegistryOptions()
        /// The time of the database.
        package var now: @Sendable () -> WallTime = { .current() }
        /// How often changes by other nodes are read.
        package var followEvery: Duration = .seconds(1)
        /// The time for which a write waits for the database.
        package var patience: Duration = .seconds(15)
        /// Called when changes by other nodes cannot be read. The next attempt follows after ``followEvery``.
        package var failed: @Sendable (any Error) -> Void = { _ in }

        package init(_ store: PostgreSQLLedger.Settings) {
            self.store = store
        }
    }

    struct State {
        var status = RegistryStatus()
        /// The number of the last applied event of each part that this node follows.
        var applied: [Int: UInt64] = [:]
        /// The part of `applied` that is stored.
        var marked: [Int: UInt64] = [:]
        /// The time of the last write.
        var stamp = WallTime.distantPast
        /// Devices that are held because of an event that is not applied yet, and since when.
        var held: [DeviceID: MonotonicTime] = [:]
        var following = FollowedChanges()
        var isFollowing = false
        var isClosed = false
    }

    /// The maximum number of devices in a page.
    static let largestPage = 10_000

    let settings: Settings
    let sessions: RegistrySessions
    let identities: Identities
    let note: RegistryNote
    let gone = SharedDeviceSet()
    let emptied = SharedDeviceSet()
    let others = SharedDeviceSet()
    /// The API keys, and the key that encrypts their secrets.
    package let keyBook: PostgreSQLKeys
    let turn = WriteTurn(limit: 4096)
    let calls = RegistrationCalls()
    let named = NamedAudiences()
    let activityObserver = ActivityObserver()
    let owners = SharedOwnerChanges()
    let owed = OwedEvents()
    let updated = UpdatedDevices()
    let choices = StoredTagChoices()
    let state = Locked(State())
    /// This node's row of the counts.
    let slot = Int32.random(in: 0..<64)

    /// Opens the registry of a store that ``StoreTables`` has made, and loads the inactive devices. Call
    /// ``RegistryEngine/catchUp(part:from:)`` for each part of the log that this node carries out.
    ///
    /// - Parameter note: hands events to the node's ledger.
    package static func open(
        _ settings: Settings, identities: Identities, note: @escaping RegistryNote
    ) async throws -> PostgreSQLRegistry {
        let sessions = try await RegistrySessions.open(settings.store)
        do {
            let registry = PostgreSQLRegistry(settings, sessions, try await PostgreSQLKeys(sessions), identities, note)
            try await registry.follow()
            await sessions.repeating(every: settings.followEvery) { [weak registry] in registry?.followSoon() }
            return registry
        } catch {
            await sessions.close()
            throw error
        }
    }

    private init(
        _ settings: Settings, _ sessions: RegistrySessions, _ keys: PostgreSQLKeys, _ identities: Identities,
        _ note: @escaping RegistryNote
    ) {
        self.settings = settings
        self.sessions = sessions
        keyBook = keys
        self.identities = identities
        self.note = note
    }

    var addressLimits: AddressLimits { settings.options.addressLimits }
    package var inactive: any DeviceSet { gone }
    package var erased: any DeviceSet { emptied }
    package var ownerChanges: any OwnerChanges { owners }
    package var ofOtherKinds: any DeviceSet { others }
    package var keys: any APIKeyStore { keyBook }

    package var status: RegistryStatus {
        state.withLock { state in
            var status = state.status
            status.inactive = gone.count
            status.applied = state.applied.values.reduce(0) { $0 + EventNumber.within($1) }
            return status
        }
    }

    package func close() async {
        if state.withLock({ exchange(&$0.isClosed, with: true) }) { return }
        try? await turn.take { try await writeMarks() }
        await sessions.close()
    }

    /// Returns the time for a write, later than that of the last write of this node.
    func stamp() -> WallTime {
        let now = settings.now()
        return state.withLock { state in
            state.stamp = Self.stamp(after: state.stamp, at: now)
            return state.stamp
        }
    }

    func lost(events: Int) { state.withLock { $0.status.unpublished += UInt64(clamping: events) } }

    // MARK: Changes

    package func register(_ devices: [DeviceRegistration]) async throws -> [RegisteredDevice] {
        try await enroll(devices)
    }

    package func deactivate(_ devices: [DeviceID], reason: String) async throws -> [DeviceID] {
        try await end(devices, reason: reason, erasing: false)
    }

    package func reactivate(_ devices: [DeviceID]) async throws -> [DeviceID] { try await activate(devices) }

    package func remove(_ devices: [DeviceID]) async throws -> [DeviceID] {
        try await end(devices, reason: Deactivation.removed, erasing: true)
    }

    package func erase(_ devices: [DeviceID], as pseudonym: String) async throws -> [DeviceID] {
        try await end(devices, reason: Deactivation.erased, erasing: true, as: pseudonym)
    }

    package func updated(_ devices: [DeviceID]) { updated.add(devices, at: settings.now()) }

    package func tidyActivities(at age: WallTime) async throws -> Bool { try await tidy(at: age) }

    package func publishOwed() async { await tellOwed() }
}
