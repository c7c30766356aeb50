import Foundation
import PushModel
import PushPostgreSQL
import PushStore
import TestSupport

extension RegistryBenchmark {
    /// Measures typical operations of the registry: `registry [COUNT [postgresql]]`.
    static func run(_ arguments: [String]) async throws -> [Figure] {
        let count = max(20_000, arguments.compactMap { Int($0) }.first ?? 1_000_000)
        if arguments.contains("postgresql") { return try await runOnServer(count) }
        let folder = FileManager.default.temporaryDirectory.appending(path: "carillon-registry-\(getpid())")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        return try await RegistryBenchmark(folder: folder, count: count).run()
    }

    private static func runOnServer(_ count: Int) async throws -> [Figure] {
        let server = try await PostgreSQLServer.start(
            settings: ["shared_buffers": "512MB", "max_wal_size": "8GB"], isOnDisk: true)
        var settings = PostgreSQLLedger.Settings(
            try PostgreSQLURL.parse(server.url()), resolver: { [$0.name] })
        settings.session.durability = .single
        try await StoreTables.create(settings, parts: 64, at: .current())
        let benchmark = RegistryBenchmark(
            folder: URL(filePath: server.data), count: count, store: PostgreSQLRegistry.Settings(settings))
        return try await benchmark.run()
    }
}

struct RegistryBenchmark {
    let folder: URL
    let count: Int
    /// The database; nil if the registry is in a file in the folder.
    var store: PostgreSQLRegistry.Settings?
    private let shop = AppID("shop")!
    private let identities = Identities(secret: Array(0..<32))!

    private func open() async throws -> any RegistryEngine {
        if let store { return try await PostgreSQLRegistry.open(store, identities: identities, note: { _ in 1 }) }
        return try await SQLiteRegistry.open(directory: folder.path(), identities: identities, note: { _ in 1 })
    }

    private func token(_ number: Int) -> Address {
        Address(words: (UInt64(number) &* 0x9e37_79b9_7f4a_7c15, UInt64(number), 3, 4))
    }

    private func registration(_ number: Int) -> DeviceRegistration {
        var registration = DeviceRegistration(app: shop, token: token(number))
        registration.user = "user-\(number / 2)"
        registration.locale = number % 3 == 0 ? "en_US" : "de_DE"
        registration.platform = "ios"
        registration.appVersion = "4.\(number % 20).1"
        // A half have "sale", a fifth "sport", a hundredth "beta", a thousandth "vip".
        registration.tags = [("sale", 2), ("sport", 5), ("beta", 100), ("vip", 1000)]
            .filter { (number &* 2_654_435_761 >> 7) % $0.1 == 0 }.map(\.0)
        return registration
    }

    func run() async throws -> [Figure] {
        var figures: [Figure] = []
        func show(_ name: String, value: Double, unit: String) {
            let figure = Figure(name: name, value: value, unit: unit)
            FileHandle.standardError.write(Data((Figure.text("registry", figures: [figure]) + "\n").utf8))
            figures.append(figure)
        }
        func cost(_ name: String, work: () async throws -> Int) async throws {
            let began = processCPU()
            let served = serverCPU()
            let clock = ContinuousClock.now
            let amount = try await work()
            let wall = clock.duration(to: .now).microseconds / Double(max(1, amount))
            show(
                "\(name) (\(amount)), CPU a device", value: microseconds(since: began, for: max(1, amount)), unit: "us")
            show("\(name), wall a device", value: wall, unit: "us")
            if store != nil {
                let cpu = (serverCPU() - served) * 1e6 / Double(max(1, amount))
                show("\(name), CPU of the server a device", value: cpu, unit: "us")
            }
        }
        func pages(_ audience: Audience) async throws -> Int {
            var found = 0
            var cursor: AudienceCursor?
            repeat {
                let page = try await registry.page(of: audience, app: shop, kind: .alert, after: cursor, limit: 10_000)
                found += page.devices.count
                cursor = page.next
            } while cursor != nil
            return found
        }
        var registry = try await open()
        try await cost("register, new, 1,000 at once") {
            for start in stride(from: 0, to: count, by: 1000) {
                _ = try await registry.register((start..<min(start + 1000, count)).map(registration))
            }
            return count
        }
        if store == nil {
            let size = try FileManager.default.attributesOfItem(atPath: folder.path() + "/registry.db")[.size] as? Int
            show("file, a device", value: Double(size ?? 0) / Double(count), unit: "bytes")
        }
        let some = count / 10 / 1000 * 1000
        try await cost("register, known, at random, 1,000 at once") {
            for start in stride(from: 0, to: some, by: 1000) {
                _ = try await registry.register(
                    (start..<start + 1000).map { number in
                        DeviceRegistration(app: shop, token: token(number * 7_368_787 % count))
                    })
            }
            return some
        }
        try await cost("register, known, one at a time") {
            for number in 0..<2000 { _ = try await registry.register([registration(number * 7_368_787 % count)]) }
            return 2000
        }
        try await cost("everyone") { try await pages(.everyone) }
        try await cost("tags, sale && !(beta || sport)") {
            try await pages(.tags(.all([.tag("sale"), .not(.any([.tag("beta"), .tag("sport")]))])))
        }
        try await cost("tags, vip") { try await pages(.tags(.tag("vip"))) }
        try await cost("tags, vip && sale") { try await pages(.tags(.all([.tag("vip"), .tag("sale")]))) }
        try await cost("10,000 users") {
            try await pages(.users((0..<10_000).map { "user-\($0 * 7_368_787 % (count / 2))" }))
        }
        let ids = (0..<10_000).map { identities.device(of: shop, token: token($0 * 7_368_787 % count)) }
        try await cost("10,000 device ids") { try await pages(.devices(ids)) }
        try await cost("last seen, 500 at once") {
            for start in stride(from: 0, to: ids.count, by: 500) {
                _ = try await registry.lastSeen(Array(ids[start..<start + 500]))
            }
            return ids.count
        }
        try await cost("listed, 1,000 at once") {
            var found = 0
            var cursor: AudienceCursor?
            repeat {
                let page = try await registry.list(DeviceFilter(), after: cursor, limit: 1000)
                found += page.devices.count
                cursor = page.next
            } while cursor != nil
            return found
        }
        try await cost("deactivated by hand, 500 at once") {
            for start in stride(from: 0, to: some, by: 500) {
                let part = (start..<start + 500).map {
                    identities.device(of: shop, token: token($0 * 7_368_787 % count))
                }
                _ = try await registry.deactivate(part, reason: "test")
            }
            return some
        }
        show("resident before it is closed", value: resident().now, unit: "MiB")
        await registry.close()
        let began = ContinuousClock.now
        registry = try await open()
        show(
            "open, with \(registry.status.inactive) inactive", value: began.duration(to: .now).microseconds / 1000,
            unit: "ms")
        show("resident after it is opened", value: resident().now, unit: "MiB")
        inactive(ids, in: registry.inactive, show: show)
        await registry.close()
        return figures
    }

    /// The CPU time of the processes of the server that live, in seconds. Their working directory is that of the data.
    private func serverCPU() -> Double {
        guard store != nil else { return 0 }
        let files = FileManager.default
        var ticks = 0
        for process in (try? files.contentsOfDirectory(atPath: "/proc")) ?? [] where Int(process) != nil {
            guard (try? files.destinationOfSymbolicLink(atPath: "/proc/\(process)/cwd")) == folder.path(),
                let text = try? String(contentsOfFile: "/proc/\(process)/stat", encoding: .utf8),
                let end = text.lastIndex(of: ")")
            else { continue }
            let fields = text[end...].split(separator: " ")
            if fields.count > 13 { ticks += (Int(fields[12]) ?? 0) + (Int(fields[13]) ?? 0) }
        }
        return Double(ticks) / Double(sysconf(Int32(_SC_CLK_TCK)))
    }

    private func inactive(
        _ ids: [DeviceID], in inactive: any DeviceSet, show: (String, Double, String) -> Void
    ) {
        var found = 0
        let began = processCPU()
        for _ in 0..<200 { for id in ids where inactive.contains(id) { found += 1 } }
        show(
            "inactive? (\(found / 200) of \(ids.count))", microseconds(since: began, for: 200 * ids.count) * 1000, "ns")
    }
}

extension Duration {
    fileprivate var microseconds: Double {
        Double(components.seconds) * 1e6 + Double(components.attoseconds) * 1e-12
    }
}
