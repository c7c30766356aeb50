import ActiveObject
import PushModel
import PushPostgreSQL

/// Copying the devices and the API keys.
extension ImportTask {
    private static let devicesAtOnce = 1000

    /// Copies the devices and the API keys. Returns their numbers.
    func copyRegistry(in directory: String) async throws -> (devices: Int, keys: Int) {
        let database = try await RegistrySchema.open(directory + "/registry.db")
        do {
            let devices = try await copyDevices(from: database)
            let keys = try await copyKeys(from: database)
            await database.close()
            return (devices, keys)
        } catch {
            await database.close()
            throw error
        }
    }

    private func copyDevices(from database: Database) async throws -> Int {
        var (row, count): (Int64, Int) = (0, 0)
        while true {
            let after = row
            let (devices, tags) = try await database.read { snapshot in
                let devices = try Device.where(\.objectId > after).limit(Self.devicesAtOnce).all(in: snapshot)
                var tags: [DeviceTag] = []
                let rows = devices.compactMap(\.objectId)
                for start in stride(from: 0, to: rows.count, by: SQLiteRegistry.listLimit) {
                    let part = Array(rows[start..<min(start + SQLiteRegistry.listLimit, rows.count)])
                    tags += try DeviceTag.where(.isIn(\.device, values: part)).all(in: snapshot)
                }
                return (devices, tags)
            }
            guard let last = devices.last?.objectId else { break }
            let tagsOfRows = Dictionary(grouping: tags, by: \.device)
            var changes = DeviceChanges()
            for device in devices {
                var change = DeviceChange(new: device)
                change.after?.objectId = nil
                change.tags = Set((device.objectId.flatMap { tagsOfRows[$0] } ?? []).map { ExactText($0.tag) })
                changes.put(change, for: device.deviceId)
            }
            let write = DeviceWrite(
                changes, read: ReadDevices(), version: .random(in: .min ... .max), isAgain: false, slot: 0, marks: [])
            _ = try await call.run { write.call(on: $0) }
            count += devices.count
            row = last
        }
        // Nodes read all inactive devices at their start.
        _ = try await call.run("TRUNCATE carillon.device_changes")
        return count
    }

    private func copyKeys(from database: Database) async throws -> Int {
        let keys = try await database.read { snapshot in
            try APIKeyRow.query.order(by: \.objectId).all(in: snapshot)
        }
        let version = Int64.random(in: 1 ... .max)
        _ = try await call.run { section in
            section.call(.once(sql: "UPDATE carillon.key_book SET version = \(version)"))
            for key in keys {
                section.call(KeyStatements.store) { parameters in
                    key.append(to: &parameters)
                    parameters.append(int8: version)
                }
            }
        }
        return keys.count
    }
}
