import ActiveObject
package import PushModel

extension SQLiteRegistry {
    package func outranked(
        _ devices: [DeviceID], of audience: Audience, by preferred: [PreferredApp]
    ) async throws -> Set<DeviceID> {
        try await database.read { snapshot in
            let own = try Device.find(devices, in: snapshot).filter { $0.user != nil }
            var test: TagTest?
            if case .tags(let expression) = audience { test = TagTest(expression) }
            var reached: Set<ExactText> = []
            for app in preferred {
                let users = Set(own.compactMap(\.user).map { ExactText($0) }).subtracting(reached)
                reached.formUnion(try Self.reached(users, in: app, matching: test, snapshot))
            }
            return Set(own.filter { $0.user.map { reached.contains(ExactText($0)) } ?? false }.map(\.deviceId))
        }
    }

    /// Returns those of the users that have an active address in an app, with matching tags if there is a test.
    private static func reached(
        _ users: Set<ExactText>, in app: PreferredApp, matching test: TagTest?, _ snapshot: Snapshot
    ) throws -> Set<ExactText> {
        let names = users.map(\.text)
        var reached: Set<ExactText> = []
        for start in stride(from: 0, to: names.count, by: listLimit) {
            let part = names[start..<min(start + listLimit, names.count)]
            reached.formUnion(try Self.reached(Array(part), in: app, matching: test, snapshot))
        }
        return reached
    }

    /// Returns those of a few users. The search for a user ends with the first address, so that one user with a million
    /// addresses costs no more than others.
    private static func reached(
        _ names: [String], in app: PreferredApp, matching test: TagTest?, _ snapshot: Snapshot
    ) throws -> Set<ExactText> {
        var reached: Set<ExactText> = []
        var left = names
        var position: Position<Device>?
        while !left.isEmpty {
            let page = try Device.active(in: app.app, app.kind).where(.isIn(\.user, values: left))
                .order(by: \.user).page(size: 2 * listLimit, after: position, in: snapshot)
            let found = try users(of: page.records, matching: test, snapshot)
            reached.formUnion(found)
            guard let next = page.next else { break }
            if found.isEmpty {
                position = next
            } else {
                left.removeAll { found.contains(ExactText($0)) }
                position = nil
            }
        }
        return reached
    }

    private static func users(
        of devices: [Device], matching test: TagTest?, _ snapshot: Snapshot
    ) throws -> Set<ExactText> {
        let devices = devices.filter { $0.token.token != nil }
        guard let test else { return Set(devices.compactMap(\.user).map { ExactText($0) }) }
        let tags = try Device.tags.load(for: devices, in: snapshot)
        let matching = devices.filter { device in
            test.matches((device.objectId.flatMap { tags[$0] } ?? []).lazy.map(\.tag))
        }
        return Set(matching.compactMap(\.user).map { ExactText($0) })
    }
}
