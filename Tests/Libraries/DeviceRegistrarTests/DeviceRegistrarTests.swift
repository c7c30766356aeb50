import Foundation
import RequestQueue
import Synchronization
import TestSupport
import TestTraits
import Testing

@testable import DeviceRegistrar

/// The registrar with a running Carillon.
@Suite(.waits) struct DeviceRegistrarTests {
    private func token(_ byte: UInt8) throws -> PushToken { try #require(PushToken(Data(repeating: byte, count: 32))) }

    private func events(_ scene: RegistrarScene) async throws -> String { try await scene.ask("events") }

    @Test func `A device is registered, changed, replaced and removed`() async throws {
        let scene = try await RegistrarScene()
        let registrar = try scene.registrar()
        await registrar.register(try token(1), profile: DeviceProfile(user: "ada", tags: ["vip"], locale: "de_AT"))
        await registrar.settle()
        guard case .registered(let device) = await registrar.status else {
            Issue.record("\(await registrar.status)")
            return
        }
        var stored = try await scene.ask("devices/\(device)")
        #expect(stored.contains("\"user\":\"ada\"") && stored.contains("\"vip\""))
        await registrar.register(try token(1), profile: DeviceProfile(user: "bob", tags: []))
        await registrar.settle()
        stored = try await scene.ask("devices/\(device)")
        #expect(stored.contains("\"user\":\"bob\"") && !stored.contains("vip"), "\(stored)")
        // Another run of the app, with a new token.
        let next = try scene.registrar()
        await next.register(try token(2), profile: DeviceProfile(user: "bob", tags: []))
        await next.settle()
        let former = try await scene.ask("devices/\(device)")
        #expect(former.contains("\"active\":false") && former.contains("replaced"))
        guard case .registered(let second) = await next.status else {
            Issue.record("\(await next.status)")
            return
        }
        #expect(second != device)
        await next.remove()
        await next.settle()
        #expect(await next.status == .unregistered)
        #expect(try await events(scene).contains("\"reason\":\"removed\""))
    }

    @Test func `What the server knows is not sent again`() async throws {
        let scene = try await RegistrarScene()
        for _ in 0..<3 {
            let registrar = try scene.registrar()
            await registrar.register(try token(3), profile: DeviceProfile(user: "ada"))
            await registrar.settle()
        }
        let metrics = try await ChildProcess.run("curl", ["--silent", "\(scene.server.absoluteString)/metrics"]).output
        let line = metrics.split(separator: "\n").first {
            $0.hasPrefix("carillon_http_requests_total") && $0.contains("/v1/apps/{app}/devices\"")
                && $0.contains("201")
        }
        #expect(line?.hasSuffix(" 1") == true, "\(line ?? "no line")")
    }

    @Test(arguments: [-7_200_000, 7_200_000] as [Int64]) func `A device with a wrong clock registers`(_ offset: Int64)
        async throws
    {
        let scene = try await RegistrarScene()
        let registrar = try scene.registrar(clockOffset: offset)
        await registrar.register(try token(4))
        await registrar.settle()
        guard case .registered = await registrar.status else {
            Issue.record("\(await registrar.status)")
            return
        }
    }

    @Test func `A clock that jumps, back and ahead, costs no registration`() async throws {
        let scene = try await RegistrarScene()
        let clock = JumpingClock()
        let registrar = try DeviceRegistrar(scene.configuration(), queue: RequestQueue()) { clock.now }
        for (number, jump) in [0, 7_200_000, -40_000_000_000, 0, 400_000_000_000].enumerated() {
            clock.offset.store(Int64(jump), ordering: .relaxed)
            await registrar.register(try token(4), profile: DeviceProfile(user: "u\(number)"))
            await registrar.settle()
            guard case .registered(let device) = await registrar.status else {
                Issue.record("\(jump): \(await registrar.status)")
                return
            }
            #expect(try await scene.ask("devices/\(device)").contains("\"user\":\"u\(number)\""))
        }
    }

    @Test func `Of many changes at the same time, the last one is what the server has`() async throws {
        let scene = try await RegistrarScene()
        let registrar = try scene.registrar()
        await withTaskGroup { group in
            for number in 0..<60 {
                group.addTask { [self] in
                    switch number % 6 {
                    case 0: await registrar.remove()
                    case 1: await registrar.displayed("8be8baca-4367-5f55-9acc-\(100_000_000_000 + number)")
                    case 2: await registrar.settle()
                    case 3: await registrar.retry()
                    default:
                        guard let token = try? token(UInt8(number % 4 + 1)) else { return }
                        await registrar.register(token, profile: DeviceProfile(user: "u\(number)"))
                    }
                }
            }
        }
        await registrar.register(try token(9), profile: DeviceProfile(user: "last"))
        await registrar.settle()
        guard case .registered(let device) = await registrar.status else {
            Issue.record("\(await registrar.status)")
            return
        }
        #expect(try await scene.ask("devices/\(device)").contains("\"user\":\"last\""))
        let active = try await scene.ask("devices?active=true")
        #expect(active.components(separatedBy: "\"active\":true").count == 2, "\(active)")
        #expect(await registrar.waitingReports == 0)
    }

    @Test func `A wrong secret is refused, and is shown`() async throws {
        let scene = try await RegistrarScene()
        var configuration = scene.configuration()
        configuration.secret = try #require(KeySecret(RequestSignerTests.secret))
        let registrar = try DeviceRegistrar(configuration, queue: RequestQueue())
        var statuses = await registrar.statuses().makeAsyncIterator()
        #expect(await statuses.next() == .unregistered)
        await registrar.register(try token(5))
        await registrar.settle()
        guard case .refused(let problem) = await registrar.status else {
            Issue.record("\(await registrar.status)")
            return
        }
        #expect(problem.status == 401 && problem.code == "unauthenticated")
        #expect(await statuses.next() != .unregistered)
    }

    @Test func `Reports reach the server, and those without a server survive a restart`() async throws {
        let scene = try await RegistrarScene()
        var away = scene.configuration("away.json")
        away.server = try #require(URL(string: "http://127.0.0.1:1"))
        let offline = try DeviceRegistrar(away, queue: RequestQueue())
        for number in 0..<250 { await offline.displayed("n-\(number)") }
        await offline.opened("bad id")
        await offline.settle()
        #expect(await offline.waitingReports == 250)
        let again = try DeviceRegistrar(away, queue: RequestQueue())
        #expect(await again.waitingReports == 250)
        let registrar = try scene.registrar()
        for number in 0..<250 { await registrar.displayed("8be8baca-4367-5f55-9acc-\(100_000_000_000 + number)") }
        await registrar.settle()
        #expect(await registrar.waitingReports == 0)
        #expect(await registrar.droppedReports == 0)
    }

    @Test func `The file has no secret, belongs to its owner, and may be damaged`() async throws {
        let scene = try await RegistrarScene()
        let registrar = try scene.registrar()
        await registrar.register(try token(6), profile: DeviceProfile(user: "ada"))
        await registrar.settle()
        let file = scene.configuration().file
        let data = try Data(contentsOf: file)
        let text = String(decoding: data, as: UTF8.self)
        #expect(text.contains("ada") && !text.contains(Data(scene.secret.bytes).base64EncodedString().prefix(20)))
        let mode = try FileManager.default.attributesOfItem(atPath: file.path)[.posixPermissions] as? NSNumber
        #expect(mode?.intValue == 0o600)
        for count in stride(from: 0, to: data.count, by: 7) {
            try data.prefix(count).write(to: file)
            #expect(await (try scene.registrar()).status == .unregistered)
        }
        var other = scene.configuration()
        other.app = "other"
        try data.write(to: file)
        #expect(await (try DeviceRegistrar(other, queue: RequestQueue())).waitingReports == 0)
    }

    @Test(arguments: ["ftp://a", "https://", "https://u:p@a"]) func `A server that is not one is an error`(
        _ text: String
    ) throws {
        let configuration = RegistrarConfiguration(
            server: try #require(URL(string: text)), app: "shop", keyID: "k",
            secret: try #require(KeySecret(RequestSignerTests.secret)), file: URL(fileURLWithPath: "/tmp/none"))
        #expect(throws: RequestError.self) { try DeviceRegistrar(configuration) }
    }
}

private final class JumpingClock: Sendable {
    /// In milliseconds.
    let offset = Atomic<Int64>(0)

    var now: Int64 { Int64(Date().timeIntervalSince1970 * 1000) + offset.load(ordering: .relaxed) }
}
