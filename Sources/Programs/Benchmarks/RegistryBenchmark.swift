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
        let figures = Figures()
        let registry = try await open()
        try await register(in: registry, figures)
        try await findAudiences(in: registry, figures)
        try await readAndDeactivate(in: registry, figures)
        figures.show("resident before it is closed", value: resident().now, unit: "MiB")
        await registry.close()
        let began = ContinuousClock.now
        let opened = try await open()
        figures.show(
            "open, with \(opened.status.inactive) inactive", value: began.duration(to: .now).microseconds / 1000,
            unit: "ms")
        figures.show("resident after it is opened", value: resident().now, unit: "MiB")
        lookUpInactive(in: opened.inactive, figures)
        await opened.close()
        return figures.all
    }

    /// The figures so far. Each is shown when it is known.
    private final class Figures {
        private(set) var all: [Figure] = []

        func show(_ name: String, value: Double, unit: String) {
            let figure = Figure(name: name, value: value, unit: unit)
            FileHandle.standardError.write(Data((Figure.text("registry", figures: [figure]) + "\n").utf8))
            all.append(figure)
        }
    }

    /// Shows what some work costs for each of the devices whose number it returns.
    private func cost(_ name: String, _ figures: Figures, work: () async throws -> Int) async throws {
        let began = processCPU()
        let served = serverCPU()
        let clock = ContinuousClock.now
        let amount = try await work()
        let wall = clock.duration(to: .now).microseconds / Double(max(1, amount))
        let cpu = microseconds(since: began, for: max(1, amount))
        figures.show("\(name) (\(amount)), CPU a device", value: cpu, unit: "us")
        figures.show("\(name), wall a device", value: wall, unit: "us")
        if store != nil {
            let cpu = (serverCPU() - served) * 1e6 / Double(max(1, amount))
            figures.show("\(name), CPU of the server a device", value: cpu, unit: "us")
        }
    }

    private func register(in registry: any RegistryEngine, _ figures: Figures) async throws {
        try await cost("register, new, 1,000 at once", figures) {
            for start in stride(from: 0, to: count, by: 1000) {
                _ = try await registry.register((start..<min(start + 1000, count)).map(registration))
            }
            return count
        }
        if store == nil {
            let size = try FileManager.default.attributesOfItem(atPath: folder.path() + "/registry.db")[.size] as? Int
            figures.show("file, a device", value: Double(size ?? 0) / Double(count), unit: "bytes")
        }
        try await cost("register, known, at random, 1,000 at once", figures) {
            for start in stride(from: 0, to: tenth, by: 1000) {
                _ = try await registry.register(
                    (start..<start + 1000).map { DeviceRegistration(app: shop, token: token(scattered($0))) })
            }
            return tenth
        }
        try await cost("register, known, one at a time", figures) {
            for number in 0..<2000 { _ = try await registry.register([registration(scattered(number))]) }
            return 2000
        }
    }

    private func findAudiences(in registry: any RegistryEngine, _ figures: Figures) async throws {
        let audiences: [(String, Audience)] = [
            ("everyone", .everyone),
            (
                "tags, sale && !(beta || sport)",
                .tags(.all([.tag("sale"), .not(.any([.tag("beta"), .tag("sport")]))]))
            ),
            ("tags, vip", .tags(.tag("vip"))),
            ("tags, vip && sale", .tags(.all([.tag("vip"), .tag("sale")]))),
            ("10,000 users", .users((0..<10_000).map { "user-\($0 * 7_368_787 % (count / 2))" })),
            ("10,000 device ids", .devices(devices(0..<10_000))),
        ]
        for (name, audience) in audiences {
            try await cost(name, figures) {
                var found = 0
                var cursor: AudienceCursor?
                repeat {
                    let page = try await registry.page(
                        of: audience, app: shop, kind: .alert, after: cursor, limit: 10_000)
                    found += page.devices.count
                    cursor = page.next
                } while cursor != nil
                return found
            }
        }
    }

    private func readAndDeactivate(in registry: any RegistryEngine, _ figures: Figures) async throws {
        try await cost("last seen, 500 at once", figures) {
            for start in stride(from: 0, to: 10_000, by: 500) {
                _ = try await registry.sightings(of: devices(start..<start + 500))
            }
            return 10_000
        }
        try await cost("listed, 1,000 at once", figures) {
            var found = 0
            var cursor: AudienceCursor?
            repeat {
                let page = try await registry.list(DeviceFilter(), after: cursor, limit: 1000)
                found += page.devices.count
                cursor = page.next
            } while cursor != nil
            return found
        }
        try await cost("deactivated by hand, 500 at once", figures) {
            for start in stride(from: 0, to: tenth, by: 500) {
                _ = try await registry.deactivate(devices(start..<start + 500), reason: "test")
            }
            return tenth
        }
    }

    private func lookUpInactive(in inactive: any DeviceSet, _ figures: Figures) {
        let ids = devices(0..<10_000)
        var found = 0
        let began = processCPU()
        for _ in 0..<200 { for id in ids where inactive.contains(id) { found += 1 } }
        figures.show(
            "inactive? (\(found / 200) of \(ids.count))",
            value: microseconds(since: began, for: 200 * ids.count) * 1000, unit: "ns")
    }

    /// A tenth of the devices, in thousands.
    private var tenth: Int { count / 10 / 1000 * 1000 }

    /// Returns the numbers of registered devices in an order that looks like chance.
    private func scattered(_ number: Int) -> Int { number * 7_368_787 % count }

    private func devices(_ numbers: Range<Int>) -> [DeviceID] {
        numbers.map { identities.device(of: shop, token: token(scattered($0))) }
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
}

extension Duration {
    fileprivate var microseconds: Double {
        Double(components.seconds) * 1e6 + Double(components.attoseconds) * 1e-12
    }
}
