import PushModel

/// A device before and after a write.
struct DeviceChange: Sendable {
    /// The stored device; nil if it is new.
    let before: Device?
    /// The device that is to be stored; nil if there is none any more.
    var after: Device?
    let tagsBefore: Set<ExactText>
    var tags: Set<ExactText>
    /// Whether the stored device is erased. A new one with the same id may take its place.
    var isErased = false

    init(stored device: Device, tags: Set<ExactText>) {
        (before, after) = (device, device)
        (tagsBefore, self.tags) = (tags, tags)
    }

    init(new device: Device) {
        (before, after) = (nil, device)
        (tagsBefore, tags) = ([], [])
    }

    /// Whether other nodes must learn that nothing, or something, may be sent to the device from now on, or why.
    var concernsSending: Bool {
        (before != nil && after == nil)
            || (before?.isActive ?? true) != (after?.isActive ?? true) || before?.kind != after?.kind
            || (before?.isEmptied ?? false) != (after?.isEmptied ?? false)
    }
}

/// The devices that a write reads and changes, in memory, so that each is read once and written once, however often it
/// is named.
struct DeviceChanges: Sendable {
    private var all: [DeviceID: DeviceChange] = [:]
    /// The ids of the changed devices, in the order of their first change. New rows are written in this order.
    private(set) var order: [DeviceID] = []
    private var ordered: Set<DeviceID> = []
    /// The devices of each installation after the changes. Of the installations that were read, these are all.
    private var members: [Installation: Set<DeviceID>] = [:]

    /// Adds a device as it is stored. Each is added once.
    mutating func add(_ device: Device, tags: Set<ExactText> = []) {
        all[device.deviceId] = DeviceChange(stored: device, tags: tags)
        if let home = device.home { members[home, default: []].insert(device.deviceId) }
    }

    subscript(id: DeviceID) -> DeviceChange? { all[id] }

    /// Returns the devices of an installation in the order of their ids.
    func devices(in installation: Installation) -> [Device] {
        (members[installation] ?? []).sorted().compactMap { all[$0]?.after }
    }

    mutating func put(_ change: DeviceChange, for id: DeviceID) {
        move(id, from: all[id]?.after?.home, to: change.after?.home)
        all[id] = change
        if ordered.insert(id).inserted { order.append(id) }
    }

    private mutating func move(_ id: DeviceID, from old: Installation?, to new: Installation?) {
        guard old != new else { return }
        if let old { members[old]?.remove(id) }
        if let new { members[new, default: []].insert(id) }
    }

    /// The changes, in their order.
    var list: some Sequence<DeviceChange> { order.lazy.compactMap { all[$0] } }

    /// The changes in the numbers of devices that were registered at some time, and that never were.
    var counts: (registered: Int, unregistered: Int) {
        var counts = (registered: 0, unregistered: 0)
        for change in list {
            if let before = change.before {
                if before.registeredAt != nil { counts.registered -= 1 } else { counts.unregistered -= 1 }
            }
            if let after = change.after {
                if after.registeredAt != nil { counts.registered += 1 } else { counts.unregistered += 1 }
            }
        }
        return counts
    }
}
