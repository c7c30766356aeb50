import APNs
import Foundation
import PipelineTestSupport
import PushGateways
import PushLoop
import PushModel
import PushPipeline
import PushStore
import PushWire
import TestSupport
import TestTraits
import Testing

/// Messages whose words depend on the device, from the envelope to the simulated Apple.
@Suite(.waits) struct WordingDeliveryTests {
    private static let app = AppID("shop")!
    private static let locales: [String?] = ["de_AT", "en-GB", nil, "de-CH", "fr"]

    private static func token(_ number: Int) -> Address { Address(words: (UInt64(number) &+ 1, 2, 3, 4)) }

    /// Runs a test with all parts between an envelope and the simulated Apple.
    private static func run(
        _ body: (PipelineParts, SimulatedApple) async throws -> Void
    ) async throws {
        let folder = FileManager.default.temporaryDirectory.appending(path: "apns-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        try await withSimulatedApple { apple in
            let front = EventLoop(name: "front")
            let codec = APNsCodec(app: app, topic: SimulatedApple.topic, usesToken: true)
            let parts = try await PipelineParts.open(
                in: folder.path(), front: front, back: apple.clientLoop, app: AppFacts(id: app, codec: codec))
            let connections = try apple.settings()
            var settings = GatewaySettings(
                app: app, endpoint: apple.provider, reasons: .apns, resolver: apple.resolver,
                connect: { GatewayConnection($0, settings: connections) })
            settings.serverName = "localhost"
            settings.policy.maximum = 2
            settings.policy.connects = .unlimited
            let gateway = Gateway(
                on: apple.clientLoop, connectionLoops: [apple.clientLoop], settings: settings,
                client: GatewayClient(on: apple.clientLoop) { parts.router.report($0) },
                tokens: try TestTokens(apple).source)
            parts.router.appChanged(app, gate: gateway)
            let outcome: Result<Void, any Error>
            do {
                outcome = .success(try await body(parts, apple))
            } catch {
                outcome = .failure(error)
            }
            await parts.intake.stop(within: .zero)
            parts.router.stop()
            await gateway.drain(within: .seconds(5))
            await parts.close()
            await front.shutDown()
            try outcome.get()
        }
    }

    private static func register(_ count: Int, users: Int, in parts: PipelineParts) async throws {
        _ = try await parts.registry.register(
            (0..<count).map { number in
                var device = DeviceRegistration(app: app, token: token(number))
                device.locale = locales[number % locales.count]
                device.user = "user-\(number % users)"
                return device
            })
    }

    private static func push(_ envelope: String, to parts: PipelineParts) async -> DirectAnswer {
        let answer = await parts.push(envelope)
        #expect(answer.outcome == .accepted, "\(String(decoding: answer.text, as: UTF8.self))")
        await wait(while: await waiting(parts) > 0)
        return answer
    }

    private static func waiting(_ parts: PipelineParts) async -> Int {
        await parts.ledger.flush()
        return parts.ledger.backlog(of: app).waiting
    }

    /// Returns the alerts by token.
    private static func alerts(_ apple: SimulatedApple) async throws -> [String: [String]] {
        let text = await apple.control("GET", "/received", query: "payload=true&limit=100000")
        var alerts: [String: [String]] = [:]
        for line in text.split(separator: "\n") {
            let record = try #require(try JSONSerialization.jsonObject(with: Data(line.utf8)) as? [String: Any])
            let aps = (record["payload"] as? [String: Any])?["aps"] as? [String: Any]
            let object = aps?["alert"] as? [String: Any]
            alerts[record["token"] as? String ?? "", default: []].append(
                aps?["alert"] as? String ?? object?["body"] as? String ?? "none")
        }
        return alerts
    }

    @Test(arguments: [false, true])
    func `Each device gets the words of its locale, once`(toTokens: Bool) async throws {
        try await Self.run { parts, apple in
            try await Self.register(100, users: 3, in: parts)
            let tokens = (0..<100).map { #""\#(Self.token($0).hex)""# }.joined(separator: ",")
            let to = toTokens ? #"{"tokens":[\#(tokens)]}"# : #"{"all":true}"#
            _ = await Self.push(
                #"{"id":"one","app":"shop","to":\#(to),"collapse_id":"c","alert":{"locales":{"en":"Hello","de":"#
                    + #"{"title":"T","body":"Hallo"},"de-CH":"Hoi"},"default":"en"}}"#, to: parts)
            let alerts = try await Self.alerts(apple)
            #expect(alerts.count == 100)
            let words = ["Hallo", "Hello", "Hello", "Hoi", "Hello"]
            for number in 0..<100 { #expect(alerts[Self.token(number).hex] == [words[number % words.count]]) }
        }
    }

    @Test func `Each user gets the own values, in the words of each device`() async throws {
        try await Self.run { parts, apple in
            try await Self.register(60, users: 4, in: parts)
            let users = (0..<4).map { #""user-\#($0)""# }.joined(separator: ",")
            let values = (0..<4).map { #""user-\#($0)":{"n":"\#($0)","name":"\"{n}\""}"# }.joined(separator: ",")
            _ = await Self.push(
                #"{"id":"one","app":"shop","to":{"users":[\#(users)]},"values":{\#(values)},"alert":"#
                    + #"{"locales":{"en":"{{{n}} {name}","de":{"body":"{name}{n}"}},"default":"en"}}"#, to: parts)
            let alerts = try await Self.alerts(apple)
            #expect(alerts.count == 60)
            for number in 0..<60 {
                let isGerman = Self.locales[number % Self.locales.count]?.hasPrefix("de") == true
                let user = number % 4
                let text = isGerman ? "\"{n}\"\(user)" : "{\(user)} \"{n}\""
                #expect(alerts[Self.token(number).hex] == [text])
            }
        }
    }
}
