import ActiveObject
import PushModel

extension DeviceChanges {
    /// Reads the devices with these ids, and the tags of some of them.
    ///
    /// - Parameter installations: The installations whose devices are read as well, with their tags, besides those of
    ///   the devices with these ids; nil to read none.
    init(
        _ ids: Set<DeviceID>, tagged: Set<DeviceID> = [], installations: Set<Installation>? = nil,
        in transaction: Transaction
    ) throws {
        self.init()
        var found = try Device.find(Array(ids), in: transaction)
        var tagged = tagged
        if let homes = installations?.union(found.compactMap(\.home)), !homes.isEmpty {
            let members = try Device.find(in: homes, of: transaction)
            tagged.formUnion(members.map(\.deviceId))
            found += members.filter { !ids.contains($0.deviceId) }
        }
        let wanted = tagged.isEmpty ? [] : found.filter { tagged.contains($0.deviceId) }
        let tags = try Device.tags.load(for: wanted, in: transaction)
        for device in found {
            add(device, tags: Set((device.objectId.flatMap { tags[$0] } ?? []).map { ExactText($0.tag) }))
        }
    }

    /// Writes the changes.
    func write(in transaction: Transaction) throws {
        var fresh: [Device] = []
        var tagsToAdd: [DeviceTag] = []
        for change in list {
            if change.isErased, let row = change.before?.objectId {
                try DeviceTag.remove(where: \.device == row, in: transaction)
                try Device.remove(where: \.objectId == row, in: transaction)
            }
            guard var device = change.after else { continue }
            guard let before = change.before, !change.isErased else {
                fresh.append(device)
                continue
            }
            try device.save(changedSince: before, in: transaction)
            guard let row = before.objectId, change.tags != change.tagsBefore else { continue }
            let gone = change.tagsBefore.subtracting(change.tags)
            if !gone.isEmpty {
                try DeviceTag.remove(where: \.device == row && .isIn(\.tag, values: gone.map(\.text)), in: transaction)
            }
            tagsToAdd += change.tags.subtracting(change.tagsBefore).map { DeviceTag(device: row, tag: $0.text) }
        }
        try fresh.saveAll(in: transaction)
        for device in fresh {
            guard let row = device.objectId, let change = self[device.deviceId] else { continue }
            tagsToAdd += change.tags.map { DeviceTag(device: row, tag: $0.text) }
        }
        try tagsToAdd.saveAll(in: transaction)
    }
}
