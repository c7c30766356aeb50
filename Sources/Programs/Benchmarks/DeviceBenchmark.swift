import ActiveObject
import Foundation

private struct Token: ColumnValue, Hashable {
    let bytes: Data

    static var valueClass: ValueClass { .blob }
    var sqlValue: SQLValue { .blob(bytes) }

    init(_ bytes: Data) { self.bytes = bytes }

    init?(sqlValue: SQLValue) {
        guard case .blob(let bytes) = sqlValue else { return nil }
        self.bytes = bytes
    }
}

/// A device as a registry stores it.
private struct Device: ActiveRecord {
    enum Platform: String, Codable { case ios, macos }

    var objectId: Int64?
    var app: String
    var token: Token
    var deviceId: Data
    var user: String?
    var locale: String?
    var platform: Platform?
    var appVersion: String?
    var registeredAt: Date
    var seenAt: Date
    var deactivatedAt: Date?
    var reason: String?

    static var columns: [Column<Device>] {
        [
            Column(\.token, isPrivate: true), Column(\.registeredAt, dates: .unixMilliseconds),
            Column(\.seenAt, dates: .unixMilliseconds), Column(\.deactivatedAt, dates: .unixMilliseconds),
        ]
    }
    static var indexes: [Index<Device>] {
        [.unique(\.app, \.token), .unique(\.deviceId), Index(\.app), Index(\.app, \.user)]
    }
    static var tags: HasMany<Device, DeviceTag> { HasMany(\.deviceId) }

    init(_ number: Int, at time: Double) {
        app = number % 10 == 9 ? "news" : "shop"
        token = Token(bytes(number, count: 32))
        deviceId = bytes(~number, count: 16)
        user = "user-\(number / 2)"
        locale = number % 3 == 0 ? "en_US" : "de_DE"
        platform = number % 4 == 0 ? .macos : .ios
        appVersion = "4.\(number % 20).1"
        registeredAt = Date(timeIntervalSince1970: time)
        seenAt = registeredAt
    }
}

private struct DeviceTag: ActiveRecord {
    var objectId: Int64?
    var deviceId: Int64
    var tag: String

    static var indexes: [Index<DeviceTag>] { [.unique(\.deviceId, \.tag), Index(\.tag, \.deviceId)] }
}

/// Returns pseudorandom bytes that depend only on the number.
private func bytes(_ number: Int, count: Int) -> Data {
    var data = Data(capacity: count)
    for word in 0..<count / 8 {
        var value = mixed(UInt64(bitPattern: Int64(number)) &* 8 &+ UInt64(word))
        withUnsafeBytes(of: &value) { data.append(contentsOf: $0) }
    }
    return data
}

private func mixed(_ number: UInt64) -> UInt64 {
    var value = number &+ 0x9e37_79b9_7f4a_7c15
    value = (value ^ (value >> 30)) &* 0xbf58_476d_1ce4_e5b9
    value = (value ^ (value >> 27)) &* 0x94d0_49bb_1331_11eb
    return value ^ (value >> 31)
}

extension DeviceBenchmark {
    /// Measures typical operations of a device registry: `devices [COUNT [MEBIBYTES OF CACHE]]`.
    static func run(_ arguments: [String]) async throws -> [Figure] {
        let numbers = arguments.compactMap { Int($0) }
        let count = max(10_000, numbers.first ?? 1_000_000)
        let folder = FileManager.default.temporaryDirectory.appending(path: "carillon-devices-\(getpid())")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        var options = Database.Options()
        options.cacheBytes = (numbers.dropFirst().first ?? 64) << 20
        options.readers = 1
        let path = folder.appending(path: "devices.db").path()
        let database = try await Database.open(path, name: nil, options: options)
        let bench = DeviceBenchmark(database: database, count: count)
        // The benchmark takes minutes, so each part is printed when it is complete.
        var figures: [Figure] = []
        for part in [bench.register, bench.read, bench.deactivate] {
            let some = try await part()
            FileHandle.standardError.write(Data((Figure.text("devices", figures: some) + "\n").utf8))
            figures += some
        }
        figures.append(Figure(name: "resident at the end", value: resident().now, unit: "MiB"))
        await database.close()
        return figures
    }
}

struct DeviceBenchmark: Sendable {
    let database: Database
    let count: Int

    private static let group = 1000
    /// The number of devices for operations in random order, which need a smaller sample.
    private var sample: Int { min(count / 5, 100_000) }

    /// Returns `amount` different device numbers in random order.
    private func known(inRound round: Int, count amount: Int) -> [Int] {
        // The factor is a prime that divides no count in use, so that its multiples reach each number once.
        (0..<amount).map { (($0 + round * amount) * 7_368_787) % count }
    }

    private func cost(_ name: String, per amount: Int, work: () async throws -> Void) async throws -> Figure {
        let began = processCPU()
        try await work()
        return Figure(
            name: "\(name), CPU a device", value: microseconds(since: began, for: amount), unit: "us")
    }

    /// Measures the writing of devices in groups, without the creation of the records.
    private func groups(
        _ name: String, of numbers: [Int], at time: Double, write: @escaping @Sendable ([Device]) async throws -> Void
    ) async throws -> Figure {
        var spent = 0.0
        for start in stride(from: 0, to: numbers.count, by: Self.group) {
            let devices = numbers[start..<min(start + Self.group, numbers.count)].map { Device($0, at: time) }
            let began = processCPU()
            try await write(devices)
            spent += (processCPU() - began).inSeconds
        }
        return Figure(name: "\(name), CPU a device", value: spent * 1e6 / Double(numbers.count), unit: "us")
    }

    // MARK: Writing

    func register() async throws -> [Figure] {
        let database = database
        var figures = [
            try await groups("upsert, new", of: Array(0..<count), at: 1e9) { devices in
                try await Device.upsertAll(
                    devices, on: \.app, \.token, updating: .allBut(\.registeredAt, \.deviceId), in: database)
            }
        ]
        let size = try await database.rows(
            "SELECT page_count * page_size AS s FROM pragma_page_count, pragma_page_size")
        let bytes = try size.first.map { Double(try $0["s", as: Int64.self]) } ?? .nan
        figures.append(Figure(name: "file, a device", value: bytes / Double(count), unit: "bytes"))
        figures += [
            try await groups("upsert, known, at random", of: known(inRound: 0, count: sample), at: 2e9) { devices in
                try await Device.upsertAll(
                    devices, on: \.app, \.token, updating: .allBut(\.registeredAt, \.deviceId), in: database)
            },
            try await groups("upsert, known, read back", of: known(inRound: 1, count: sample), at: 2e9) { devices in
                var devices = devices
                try await devices.upsertAll(
                    on: \.app, \.token, updating: .allBut(\.registeredAt, \.deviceId), in: database)
            },
            try await groups("upsert, known, no index changed", of: known(inRound: 2, count: sample), at: 2e9) {
                devices in
                try await Device.upsertAll(
                    devices, on: \.app, \.token,
                    updating: .only(\.seenAt, \.locale, \.appVersion, \.deactivatedAt, \.reason), in: database)
            },
        ]
        let began = processCPU()
        var tags = 0
        for start in stride(from: 0, to: count, by: Self.group) {
            tags += try await DeviceTag.upsertAll(
                (start..<min(start + Self.group, count)).flatMap(Self.tags), on: \.deviceId, \.tag, updating: .nothing,
                in: database)
        }
        figures.append(
            Figure(
                name: "tags, new, CPU a tag", value: microseconds(since: began, for: tags), unit: "us"))
        return figures
    }

    /// Returns the tags of a device: a half have "sale", a fifth "sport", a hundredth "beta", a thousandth "vip".
    private static func tags(_ number: Int) -> [DeviceTag] {
        let random = mixed(UInt64(number))
        let tags = [("sale", 2), ("sport", 5), ("beta", 100), ("vip", 1000)] as [(String, UInt64)]
        return tags.filter { random / $0.1 % $0.1 == 0 }.map { DeviceTag(deviceId: Int64(number + 1), tag: $0.0) }
    }

    // MARK: Reading

    func read() async throws -> [Figure] {
        let all = Device.where(\.app == "shop" && \.deactivatedAt == nil)
        func has(_ tag: String) -> Criteria<Device> { .has(Device.tags, where: \.tag == tag) }
        return [
            try await pages("page of an app", of: all),
            try await pages(
                "page by tags, sale && !(beta || sport)", of: all.where(has("sale") && !(has("beta") || has("sport")))),
            try await pages("page by tags, vip", of: all.where(has("vip"))),
            try await pagesOfTag("page by tags, vip, from the tags"),
            try await users(),
            try await lookUps(),
            try await batches(),
        ]
    }

    private func pages(_ name: String, of query: Query<Device>) async throws -> Figure {
        var found = 0
        let before = resident().now
        let began = processCPU()
        var position: Position<Device>?
        repeat {
            let page = try await query.page(size: Self.group, after: position, in: database)
            found += page.records.count
            position = page.next
        } while position != nil
        let spent = (processCPU() - began).inSeconds
        let grown = Int(max(0, resident().now - before))
        return Figure(
            name: "\(name) (\(found), \(grown) MiB), CPU a device", value: spent * 1e6 / Double(found), unit: "us")
    }

    private func pagesOfTag(_ name: String) async throws -> Figure {
        var found = 0
        let began = processCPU()
        var position: Position<DeviceTag>?
        repeat {
            let (devices, next) = try await database.read { [position] snapshot in
                let page = try DeviceTag.where(\.tag == "vip").order(by: \.deviceId)
                    .page(size: Self.group, after: position, in: snapshot)
                let rest = Device.where(
                    \.app == "shop" && \.deactivatedAt == nil && .isIn(\.objectId, values: page.records.map(\.deviceId))
                )
                return (try rest.all(in: snapshot).count, page.next)
            }
            found += devices
            position = next
        } while position != nil
        return Figure(
            name: "\(name) (\(found)), CPU a device", value: (processCPU() - began).inSeconds * 1e6 / Double(found),
            unit: "us")
    }

    private func users() async throws -> Figure {
        let users = (0..<10_000).map { "user-\($0 * 7_368_787 % (count / 2))" }
        var found = 0
        let began = processCPU()
        for start in stride(from: 0, to: users.count, by: 500) {
            let part = Device.where(
                \.app == "shop" && \.deactivatedAt == nil && .isIn(\.user, values: Array(users[start..<start + 500])))
            found += try await part.all(in: database).count
        }
        return Figure(
            name: "by 10,000 users (\(found)), CPU a device",
            value: (processCPU() - began).inSeconds * 1e6 / Double(found), unit: "us")
    }

    private func lookUps() async throws -> Figure {
        let tokens = known(inRound: 3, count: 50_000).map { Device($0, at: 0) }
        return try await cost("look-up by token, one by one", per: tokens.count) {
            try await database.read { snapshot in
                for token in tokens {
                    let found = try Device.first(where: \.app == token.app && \.token == token.token, in: snapshot)
                    guard found != nil else { throw DeviceBenchmarkError.wrongRows }
                }
            }
        }
    }

    private func batches() async throws -> Figure {
        let tokens = known(inRound: 4, count: sample).map { Device($0, at: 0) }.filter { $0.app == "shop" }.map(\.token)
        return try await cost("look-up by token, 500 at once", per: tokens.count) {
            for start in stride(from: 0, to: tokens.count, by: 500) {
                let part = Array(tokens[start..<min(start + 500, tokens.count)])
                let found = try await Device.where(\.app == "shop" && .isIn(\.token, values: part)).all(in: database)
                guard found.count == part.count else { throw DeviceBenchmarkError.wrongRows }
            }
        }
    }

    // MARK: Deactivating

    func deactivate() async throws -> [Figure] {
        let tokens = known(inRound: 0, count: min(sample, 100_000)).map { Device($0, at: 0) }.filter {
            $0.app == "shop"
        }.map(\.token)
        let half = tokens.count / 2
        let time = Date(timeIntervalSince1970: 3e9)
        let one = try await cost("deactivate, 500 at once, one time", per: half) {
            for start in stride(from: 0, to: half, by: 500) {
                let part = Array(tokens[start..<min(start + 500, half)])
                let changed = try await Device.where(
                    \.app == "shop" && .isIn(\.token, values: part) && \.seenAt < time && \.deactivatedAt == nil
                ).update(.set(\.deactivatedAt, to: time), .set(\.reason, to: "Unregistered"), in: database)
                guard changed == part.count else { throw DeviceBenchmarkError.wrongRows }
            }
        }
        let each = try await cost("deactivate, 500 at once, a time each", per: tokens.count - half) {
            for start in stride(from: half, to: tokens.count, by: 500) {
                let part = Array(tokens[start..<min(start + 500, tokens.count)])
                try await database.write { transaction in
                    let times = Dictionary(uniqueKeysWithValues: part.enumerated().map { ($1, 3e9 + Double($0)) })
                    for before in try Device.where(
                        \.app == "shop" && .isIn(\.token, values: part) && \.deactivatedAt == nil
                    ).all(in: transaction) {
                        guard let time = times[before.token].map({ Date(timeIntervalSince1970: $0) }),
                            before.seenAt < time
                        else { continue }
                        var device = before
                        device.deactivatedAt = time
                        device.reason = "Unregistered"
                        try device.save(changedSince: before, in: transaction)
                    }
                }
            }
        }
        guard try await Device.where(.isNotNil(\.deactivatedAt)).count(in: database) == tokens.count else {
            throw DeviceBenchmarkError.wrongRows
        }
        return [one, each]
    }
}

private enum DeviceBenchmarkError: Error {
    case wrongRows
}
