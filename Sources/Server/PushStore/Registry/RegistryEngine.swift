package import PushModel
package import PushTime

/// A registry as the server composes it: the ports of the pipeline and of operators, and what follows the event log.
package protocol RegistryEngine: DeviceRegistry, DeviceDirectory {
    var status: RegistryStatus { get }

    /// The API keys, which are stored beside the devices.
    var keys: any APIKeyStore { get }

    /// Applies the events of one part of the log since the last applied one. Returns whether the log still had all of
    /// them. A single node has one part, 0.
    @discardableResult
    func catchUp(part: Int, from log: any EventLog) async throws -> Bool

    /// Applies the `device.deactivated` events of segments, which must come in order within each part. Skips events
    /// that were applied before.
    func apply(_ segments: [LogSegment]) async throws

    /// Publishes that devices are active which registered before the events of their deactivation were applied. Call this
    /// after ``apply(_:)`` and ``catchUp(part:from:)``, as soon as the ledger has a witness.
    func publishOwed() async

    /// Sends nothing more to devices that another node has erased, at once.
    func suppress(erased devices: [DeviceID])

    /// Ends the addresses of Live Activities that had no update for twelve hours, and removes those that ended a day ago.
    /// Returns whether it is to be called again at once, because there may be more.
    ///
    /// - Parameter age: The time by which stored data ages (``LedgerEngine/age()``).
    func tidyActivities(at age: WallTime) async throws -> Bool

    /// Waits for running operations and closes the files or connections. Later calls throw an error.
    func close() async
}

extension RegistryEngine {
    /// Applies the events of the only part of a single node.
    @discardableResult
    package func catchUp(from log: any EventLog) async throws -> Bool { try await catchUp(part: 0, from: log) }

    /// Only a cluster has other nodes.
    package func suppress(erased devices: [DeviceID]) {}
}

/// Hands events of the registry to the ledger. Returns the number of the first event when they are stored, or nil if
/// that failed.
package typealias RegistryNote = @Sendable ([EventDraft]) async -> UInt64?

package struct RegistryOptions: Sendable {
    /// The cache size of each connection to the file: the one that writes and the two that read. Default 16 MiB.
    package var cacheBytes = 16 << 20
    /// The maximum number of devices that were never registered and are known from feedback only. Beyond it the oldest
    /// are removed. They are learned again if a message is sent to them. Default 1,000,000.
    package var unregisteredLimit = 1_000_000
    /// The maximum number of ids that are remembered as not being in the file. Default 100,000.
    package var unknownLimit = 100_000
    /// The number of events after which the position in the log is stored even if none of them changed anything. At
    /// most so many events are read again after a crash. Default 100,000.
    package var markEvery: UInt64 = 100_000
    /// How many addresses an installation of each app may have.
    package var addressLimits = AddressLimits()

    package init() {}
}

package struct RegistryStatus: Sendable, Equatable {
    /// The number of the last applied event. In a cluster, the sum of these numbers within all parts that this node
    /// follows.
    package var applied: UInt64 = 0
    /// The number of devices that were registered at some time, whether they are active or not.
    package var registered = 0
    /// The number of inactive devices.
    package var inactive = 0
    /// The number of inactive devices that were never registered.
    package var unregistered = 0
    /// The number of events of completed registrations that the ledger did not accept.
    package var unpublished: UInt64 = 0
    /// The number of segments of the event log that could not be read.
    package var damaged: UInt64 = 0

    package init() {}
}
