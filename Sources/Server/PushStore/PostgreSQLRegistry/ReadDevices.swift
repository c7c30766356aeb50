import PushModel
import PushPostgreSQL

/// The devices that a write has read, to be compared with those that are there when it is carried out.
struct ReadDevices: Sendable {
    private(set) var rows: [DeviceID: DeviceRow] = [:]
    private(set) var installations = ReadInstallations()

    /// What a write without devices reads.
    init() {}

    /// - Parameters:
    ///   - devices: The rows of the devices that were asked for.
    ///   - members: Those of the installations. They were read later.
    init(_ devices: [DeviceRow], members: [DeviceRow], of installations: [Installation]) {
        for row in devices { rows[row.device.deviceId] = row }
        for row in members { rows[row.device.deviceId] = row }
        self.installations = ReadInstallations(installations, members: members)
    }

    var versions: [DeviceID: Int64] { rows.mapValues(\.version) }

    var changes: DeviceChanges {
        var changes = DeviceChanges()
        for row in rows.values { changes.add(row.device, tags: row.tags) }
        return changes
    }
}

/// Installations and what tells whether their devices have changed.
struct ReadInstallations: Sendable {
    private(set) var all: [Installation] = []
    /// The number of their devices.
    private(set) var count: Int64 = 0
    /// The sum of the upper halves of the versions: a sum of whole ones would not fit.
    private(set) var sum: Int64 = 0

    init() {}

    init(_ all: [Installation], members: [DeviceRow]) {
        self.all = all
        for row in members {
            count += 1
            sum &+= row.version >> 32
        }
    }

    /// Appends the installations with what must still be true of them.
    func append(checked parameters: inout PostgreSQLParameters) {
        append(to: &parameters)
        parameters.append(int8: count)
        parameters.append(int8: sum)
    }

    func append(to parameters: inout PostgreSQLParameters) {
        parameters.append(textArray: all.map(\.app))
        parameters.append(texts: all.map(\.name.text))
    }
}
