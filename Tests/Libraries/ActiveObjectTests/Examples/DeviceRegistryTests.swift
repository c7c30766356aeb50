import ActiveObject
import Foundation
import TestSupport
import TestTraits
import Testing

private typealias Device = DeviceRegistry.Device
private typealias DeviceTag = DeviceRegistry.DeviceTag
private typealias PushToken = DeviceRegistry.PushToken
private typealias TagExpression = DeviceRegistry.TagExpression

private func time(_ seconds: Int) -> Date { Date(timeIntervalSince1970: 1_700_000_000 + Double(seconds)) }

private func token(_ number: Int) -> PushToken {
    var random = SeededRandom(seed: UInt64(number) + 1)
    return PushToken(Data((0..<32).map { _ in UInt8.random(in: 0...255, using: &random) }))!
}

private func device(_ number: Int, app: String = "shop", at seconds: Int = 0) -> Device {
    let token = token(number)
    return Device(
        app: app, token: token, deviceId: Data(app.utf8.prefix(2)) + token.bytes.prefix(14), user: "user \(number / 2)",
        locale: number % 3 == 0 ? nil : "de_DE", platform: number % 4 == 0 ? .macos : .ios,
        appVersion: "1.\(number % 9)",
        registeredAt: time(seconds), seenAt: time(seconds))
}

@Suite struct DeviceRegistryTests {
    @Test(.waits)
    func `A hundred thousand devices register twice`() async throws {
        try await withDatabase { database in
            let count = 100_000
            for start in stride(from: 0, to: count, by: 10_000) {
                let written = try await database.write { transaction in
                    try Device.register((start..<start + 10_000).map { device($0) }, in: transaction)
                }
                #expect(written == 10_000)
            }
            let gone = try await Device.where(\.platform == .macos).update(
                .set(\.deactivatedAt, to: time(5)), .set(\.reason, to: "Unregistered"), in: database)
            #expect(gone == count / 4)

            // In another order, from a version that does not know the time of the first registration.
            for start in stride(from: count - 10_000, through: 0, by: -10_000) {
                try await database.write { transaction in
                    _ = try Device.register((start..<start + 10_000).map { device($0, at: 10) }, in: transaction)
                }
            }
            let (all, active, later) = try await database.read { snapshot in
                (
                    try Device.countAll(in: snapshot), try Device.active(in: "shop").count(in: snapshot),
                    try Device.where(\.registeredAt == time(0) && \.seenAt == time(10) && \.reason == nil)
                        .count(in: snapshot)
                )
            }
            #expect(all == count && active == count && later == count)
            var expected = device(77_776, at: 10)
            expected.registeredAt = time(0)
            let found = try await Device.first(where: \.app == "shop" && \.token == expected.token, in: database)
            expected.objectId = found?.objectId
            #expect(found == expected)
        }
    }

    @Test func `The devices of many users are found in parts`() async throws {
        try await withDatabase { database in
            try await database.write { transaction in
                _ = try Device.register((0..<25_000).map { device($0) }, in: transaction)
                _ = try Device.register((0..<100).map { device($0, app: "news") }, in: transaction)
                _ = try Device.where(.isIn(\.user, values: ["user 3", "user 4"])).update(
                    .set(\.deactivatedAt, to: time(1)), in: transaction)
            }
            // Half of the users have no devices.
            let users = (0..<10_000).map { "user \($0 * 2)" }
            var found: [Device] = []
            for start in stride(from: 0, to: users.count, by: 500) {
                let part = Device.active(in: "shop").where(.isIn(\.user, values: Array(users[start..<start + 500])))
                for try await device in part.stream(pageSize: 1000, in: database) { found.append(device) }
            }
            let numbers = (0..<25_000).filter { $0 / 2 % 2 == 0 && $0 / 2 != 4 }
            #expect(Set(found.map(\.token)) == Set(numbers.map(token)))
            #expect(found.count == numbers.count)
            // The same as a single query, for callers that do not page.
            let all = try await Device.active(in: "shop").where(.isIn(\.user, values: users)).count(in: database)
            #expect(all == numbers.count)
        }
    }

    @Test func `Tag expressions match the right devices`() async throws {
        try await withDatabase { database in
            let names = ["a", "b", "c", "it's \"d\""]
            var random = SeededRandom(seed: 42)
            let tags = (0..<300).map { _ in Set(names.filter { _ in Bool.random(using: &random) }) }
            let devices = try await database.write { transaction in
                var devices = tags.indices.map { device($0, app: $0 % 10 == 0 ? "news" : "shop") }
                try devices.upsertAll(on: \.app, \.token, in: transaction)
                let rows = zip(devices, tags).flatMap { device, tags in
                    tags.map { DeviceTag(deviceId: device.objectId!, tag: $0) }
                }
                try DeviceTag.upsertAll(rows, on: \.deviceId, \.tag, updating: .nothing, in: transaction)
                return devices
            }
            for _ in 0..<60 {
                let expression = TagExpression.random(names, depth: 4, using: &random)
                let expected = devices.indices.filter { $0 % 10 != 0 && expression.holds(tags[$0]) }
                let query = Device.active(in: "shop").where(expression.criteria)
                var found: [Device] = []
                for try await device in query.stream(pageSize: 37, in: database) { found.append(device) }
                #expect(found == expected.map { devices[$0] }, "\(expression)")
            }
        }
    }

    @Test func `The devices of a rare tag are found page by page`() async throws {
        try await withDatabase { database in
            try await database.write { transaction in
                var devices = (0..<2000).map { device($0) }
                try devices.upsertAll(on: \.app, \.token, in: transaction)
                let rows = devices.enumerated().flatMap { number, device in
                    ["all", number % 50 == 7 ? "rare" : "other"].map {
                        DeviceTag(deviceId: device.objectId!, tag: $0)
                    }
                }
                try DeviceTag.upsertAll(rows, on: \.deviceId, \.tag, updating: .nothing, in: transaction)
            }
            let tagged = DeviceTag.where(\.tag == "rare").order(by: \.deviceId)
            var found: [Device] = []
            var position: Position<DeviceTag>?
            repeat {
                let (devices, next) = try await database.read { [position] snapshot in
                    let page = try tagged.page(size: 16, after: position, in: snapshot)
                    let rest = Device.active(in: "shop").where(
                        .isIn(\.objectId, values: page.records.map(\.deviceId))
                            && .has(Device.tags, where: \.tag == "all"))
                    return (try rest.all(in: snapshot), page.next)
                }
                found += devices
                position = next
            } while position != nil
            #expect(found.map(\.token) == (0..<2000).filter { $0 % 50 == 7 }.map(token))
        }
    }

    @Test func `Pages contain each device once while others are written`() async throws {
        try await withDatabase { database in
            try await database.write { transaction in
                let devices = (0..<20_000).map { device($0, app: $0 % 4 == 3 ? "news" : "shop") }
                _ = try Device.register(devices, in: transaction)
            }
            async let written: Void = {
                for start in stride(from: 0, to: 20_000, by: 1000) {
                    try await database.write { transaction in
                        let known = (start..<start + 1000).map { device($0, app: $0 % 4 == 3 ? "news" : "shop", at: 9) }
                        let new = (start..<start + 500).map { device(100_000 + $0) }
                        _ = try Device.register(known + new, in: transaction)
                    }
                }
            }()
            var seen: [PushToken: Int] = [:]
            var position: Position<Device>?
            repeat {
                let page = try await Device.active(in: "shop").page(size: 1000, after: position, in: database)
                #expect(page.records.count <= 1000)
                for device in page.records {
                    #expect(device.app == "shop")
                    seen[device.token, default: 0] += 1
                }
                position = page.next
            } while position != nil
            try await written
            #expect(seen.values.allSatisfy { $0 == 1 })
            #expect((0..<20_000).allSatisfy { $0 % 4 == 3 || seen[token($0)] == 1 })
        }
    }

    @Test func `Feedback deactivates those that have not registered since`() async throws {
        try await withDatabase { database in
            try await database.write { transaction in
                try Device.register((0..<10).map { device($0, at: 0) }, in: transaction)
                try Device.register([device(3, at: 20), device(4, at: 20)], in: transaction)
                let feedback = (0..<6).map { Device.Feedback(token: token($0), time: time(10 + $0), reason: "410") }
                let others = [
                    Device.Feedback(token: token(4), time: time(30), reason: "later"),
                    Device.Feedback(token: token(99), time: time(30), reason: "unknown"),
                ]
                let gone = try Device.deactivate(feedback + others, of: "shop", in: transaction)
                #expect(Set(gone.map(\.token)) == Set([0, 1, 2, 4, 5].map(token)))
                #expect(try Device.deactivate(feedback, of: "shop", in: transaction).isEmpty)
                #expect(try Device.deactivate(feedback, of: "news", in: transaction).isEmpty)
            }
            let rows = try await Device.query.order(by: \.objectId).all(in: database)
            #expect(rows.map(\.deactivatedAt) == [10, 11, 12, nil, 30, 15, nil, nil, nil, nil].map { $0.map(time) })
            #expect(rows[4].reason == "later" && rows[3].reason == nil && rows[4].registeredAt == time(0))
        }
    }

    @Test func `A device keeps its tags under a new token`() async throws {
        try await withDatabase { database in
            try await database.write { transaction in
                var devices = (0..<3).map { device($0) }
                try devices.upsertAll(on: \.app, \.token, in: transaction)
                let rows = devices.map { DeviceTag(deviceId: $0.objectId!, tag: "t") }
                try DeviceTag.upsertAll(rows, on: \.deviceId, \.tag, updating: .nothing, in: transaction)
                // One new token, and one that another row has.
                for (old, new) in [(0, 50), (50, 2)] {
                    let changed = try Device.change(
                        token(old), of: "shop", to: token(new), deviceId: device(new).deviceId, in: transaction)
                    #expect(changed?.objectId == devices[0].objectId && changed?.token == token(new))
                }
                let none = try Device.change(
                    token(0), of: "shop", to: token(7), deviceId: device(7).deviceId, in: transaction)
                #expect(none == nil)
                #expect(try Device.findAll(in: transaction).map(\.token) == [token(2), token(1)])
                // The tags of the removed row are gone.
                #expect(try DeviceTag.findAll(in: transaction).map(\.deviceId) == [1, 2])
            }
        }
    }

    @Test func `Tags are removed, and devices are counted`() async throws {
        try await withDatabase { database in
            try await database.write { transaction in
                var devices = (0..<100).map { device($0) }
                try devices.upsertAll(on: \.app, \.token, in: transaction)
                let rows = devices.flatMap { device in
                    ["a", "b", "c"].map { DeviceTag(deviceId: device.objectId!, tag: $0) }
                }
                try DeviceTag.upsertAll(rows, on: \.deviceId, \.tag, updating: .nothing, in: transaction)
                let again = try DeviceTag.upsertAll(rows, on: \.deviceId, \.tag, updating: .nothing, in: transaction)
                #expect(again == 0)
                let ios = Criteria<Device>.isIn(\.platform, values: [.ios])
                let removed = try DeviceTag.where(
                    .isIn(\.tag, values: ["a", "c"]) && .has(DeviceTag.device, where: ios)
                ).remove(in: transaction)
                #expect(removed == 150)
            }
            let counts = try await Device.active(in: "shop").counts(by: \.platform, in: database)
            #expect(counts.map(\.value) == [.ios, .macos] && counts.map(\.count) == [75, 25])
            let tags = try await DeviceTag.query.counts(by: \.tag, in: database)
            #expect(tags.map(\.value) == ["a", "b", "c"] && tags.map(\.count) == [25, 100, 25])
        }
    }
}

extension DeviceRegistry.TagExpression {
    fileprivate static func random(_ names: [String], depth: Int, using random: inout SeededRandom) -> TagExpression {
        let kind = depth == 0 ? 0 : Int.random(in: 0...3, using: &random)
        func parts(_ random: inout SeededRandom) -> [TagExpression] {
            (0..<Int.random(in: 0...3, using: &random)).map { _ in .random(names, depth: depth - 1, using: &random) }
        }
        return switch kind {
        case 1: .all(parts(&random))
        case 2: .any(parts(&random))
        case 3: .not(.random(names, depth: depth - 1, using: &random))
        default: .tag(names.randomElement(using: &random) ?? "")
        }
    }
}
