import PushModel
import PushPostgreSQL
import PushTime

/// Changes of devices as parameters of one statement, and what must still be true when the statement runs.
struct DeviceWrite: Sendable {
    /// A time that no device has, in place of null.
    private static let noTime = Int64.min

    /// The number of this write. An earlier attempt of it has left the same number.
    let version: Int64
    /// The node's own row of the counts.
    let slot: Int32
    let changes: [DeviceChange]
    /// The versions of the devices as they were read.
    let versions: [DeviceID: Int64]
    /// The installations as they were read.
    let installations: ReadInstallations
    let counts: (registered: Int, unregistered: Int)
    let marks: [(part: Int, number: UInt64)]

    /// - Parameter isAgain: Whether an earlier attempt was carried out. Devices that another node has changed since then
    ///   are left as they are.
    init(
        _ devices: DeviceChanges, read: ReadDevices, version: Int64, isAgain: Bool, slot: Int32,
        marks: [(part: Int, number: UInt64)]
    ) {
        let versions = read.versions
        installations = isAgain ? ReadInstallations() : read.installations
        // In the order of the ids: two writers that lock the same devices do not wait for each other.
        changes = devices.list.filter { change in
            (change.before != nil || change.after != nil) && (!isAgain || versions[Self.id(change)] == version)
        }
        .sorted { Self.id($0) < Self.id($1) }
        self.versions = versions
        self.version = version
        self.slot = slot
        self.marks = marks
        counts = devices.counts
    }

    var isEmpty: Bool { changes.isEmpty && marks.isEmpty }

    /// The place of the result of the write among those of the call.
    var resultIndex: Int { installations.all.isEmpty ? 0 : 1 }

    private static func id(_ change: DeviceChange) -> DeviceID {
        (change.before ?? change.after)?.deviceId ?? DeviceID(high: 0, low: 0)
    }

    /// Appends the call.
    func call(on section: PostgreSQLSection) {
        let ids = changes.map { Self.id($0) }
        let existing = ids.filter { versions[$0] != nil }
        let written = changes.compactMap(\.after)
        let erased = zip(changes, ids).filter { $0.0.after == nil && versions[$0.1] != nil }.map(\.1)
        if !installations.all.isEmpty { section.call(RegistryStatements.lock) { installations.append(to: &$0) } }
        section.call(RegistryStatements.write) { parameters in
            parameters.append(ids: existing)
            parameters.append(int8Array: existing.map { versions[$0] ?? 0 })
            parameters.append(int8: version)
            parameters.append(ids: written.map(\.deviceId))
            parameters.append(int4Array: written.map { versions[$0.deviceId] == nil ? 1 : 0 })
            parameters.append(textArray: written.map(\.app))
            parameters.appendByteaArray { array in
                for device in written { unsafe device.token.withColumnBytes { unsafe array.append($0) } }
            }
            parameters.append(texts: written.map { $0.user ?? "" })
            parameters.append(texts: written.map { $0.locale ?? "" })
            parameters.append(texts: written.map { $0.platform ?? "" })
            parameters.append(texts: written.map { $0.appVersion ?? "" })
            parameters.append(int8Array: written.map { Self.time($0.registeredAt) })
            parameters.append(int8Array: written.map { Self.time($0.seenAt) })
            parameters.append(int8Array: written.map { Self.time($0.deactivatedAt) })
            parameters.append(texts: written.map { $0.reason ?? "" })
            parameters.append(int8Array: written.map { Self.time($0.evidence) })
            parameters.append(int8Array: written.map { Self.time($0.reactivatedAt) })
            parameters.append(textArray: changes.filter { $0.after != nil }.map { Self.array($0.tags) })
            parameters.append(int8: Self.noTime)
            parameters.append(ids: erased)
            let untagged = tags { $0.tagsBefore.subtracting($0.tags) }
            parameters.append(texts: untagged.map(\.tag))
            parameters.append(textArray: untagged.map(\.app))
            parameters.append(ids: untagged.map(\.id))
            let tagged = tags { $0.tags.subtracting($0.tagsBefore) }
            parameters.append(texts: tagged.map(\.tag))
            parameters.append(textArray: tagged.map(\.app))
            parameters.append(ids: tagged.map(\.id))
            parameters.append(ids: zip(changes, ids).filter { $0.0.concernsSending }.map(\.1))
            parameters.append(int4Array: marks.map { Int32(clamping: $0.part) })
            parameters.append(int8Array: marks.map { Int64(bitPattern: $0.number) })
            parameters.append(int4: slot)
            parameters.append(int8: Int64(counts.registered))
            parameters.append(int8: Int64(counts.unregistered))
            append(places: written, to: &parameters)
            installations.append(checked: &parameters)
        }
        if isEmpty { section.call(RegistryStatements.touch) { $0.append(int4: slot) } }
        section.call(RegistryStatements.counts)
    }

    private func append(places devices: [Device], to parameters: inout PostgreSQLParameters) {
        // Below 0: no kind was stated.
        parameters.append(int4Array: devices.map { $0.place.kind.map { Int32($0.number) } ?? -1 })
        parameters.append(texts: devices.map { $0.activity ?? "" })
        parameters.append(texts: devices.map { $0.activityType ?? "" })
        parameters.append(texts: devices.map { $0.installation ?? "" })
        parameters.append(texts: devices.map { $0.timeZone ?? "" })
    }

    private static func time(_ time: WallTime?) -> Int64 { time?.milliseconds ?? noTime }

    private func tags(_ some: (DeviceChange) -> Set<ExactText>) -> [(tag: String, app: String, id: DeviceID)] {
        changes.flatMap { change in
            guard let device = change.before ?? change.after else {
                return [(tag: String, app: String, id: DeviceID)]()
            }
            return some(change).map { ($0.text, device.app, device.deviceId) }
        }
    }

    /// Returns an array of bytes in the text form of PostgreSQL.
    static func array(_ tags: Set<ExactText>) -> String {
        let digits = Array("0123456789abcdef".utf8)
        var text: [UInt8] = [UInt8(ascii: "{")]
        for tag in tags {
            if text.count > 1 { text.append(UInt8(ascii: ",")) }
            text += Array("\"\\\\x".utf8)
            for byte in tag.text.utf8 {
                text.append(digits[Int(byte >> 4)])
                text.append(digits[Int(byte & 15)])
            }
            text.append(UInt8(ascii: "\""))
        }
        text.append(UInt8(ascii: "}"))
        return String(decoding: text, as: UTF8.self)
    }
}
