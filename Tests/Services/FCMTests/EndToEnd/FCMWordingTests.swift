import PushModel
import PushSimulator
import PushStore
import TestSupport
import TestTraits
import Testing

@testable import FCM

/// Messages whose words depend on the device, from the envelope to the simulated FCM.
@Suite(.waits) struct FCMWordingTests {
    private static let locales: [String?] = ["de_AT", "en-GB", nil, "de-CH", "fr", "de"]
    private static let words = ["Hallo", "Hello", "Hello", "Hoi", "Hello", "Hallo"]
    private static let alert =
        #""alert":{"locales":{"en":"Hello","de":{"title":"T","body":"Hallo"},"de-CH":"Hoi"},"default":"en"}"#

    private static func address(_ number: Int) -> String { "token-\(number)" }

    private static func register(_ count: Int, users: Int = 1, in scene: FCMScene) async throws {
        _ = try await scene.registry.register(
            try (0..<count).map { number in
                var device = DeviceRegistration(app: FCMScene.app, token: try FCMCodec().address(address(number)))
                device.locale = locales[number % locales.count]
                device.user = "user-\(number % users)"
                return device
            })
    }

    /// Returns the bodies that an address got.
    private static func bodies(_ scene: FCMScene) async -> [String: Set<String>] {
        let records = await scene.service.with { $0.machine.records }
        return records.reduce(into: [:]) { bodies, record in
            let body = record.message.content["notification"]?["body"]?.string ?? ""
            bodies[record.message.target, default: []].insert(body)
        }
    }

    @Test(arguments: [#"{"all":true}"#, #"{"users":["user-0"]}"#, "tokens"])
    func `Each device gets the words of its locale, once`(to: String) async throws {
        try await FCMScene.run { scene in
            try await scene.openGateway(try await scene.credential())
            try await Self.register(300, in: scene)
            let names = (0..<300).map { #""\#(Self.address($0))""# }.joined(separator: ",")
            let audience = to == "tokens" ? #"{"tokens":[\#(names)]}"# : to
            let answer = await scene.push(
                #"{"id":"one","app":"shop","to":\#(audience),"expires_at":4102444800,\#(Self.alert)}"#)
            #expect(answer.outcome == .accepted, "\(String(decoding: answer.text, as: UTF8.self))")
            await scene.waitUntilDone()
            let bodies = await Self.bodies(scene)
            #expect(bodies.count == 300)
            for number in 0..<300 { #expect(bodies[Self.address(number)] == [Self.words[number % Self.words.count]]) }
            let records = await scene.service.with { $0.machine.records }
            #expect(records.count == 300)
            #expect(records.allSatisfy { $0.message.content["android"]?["notification"]?["tag"]?.string == "one" })
            #expect(try await scene.events().count { $0.kind == .deliverySent } == 300)
        }
    }

    @Test func `Each user gets the own values, in the words of each device`() async throws {
        try await FCMScene.run { scene in
            try await scene.openGateway(try await scene.credential())
            try await Self.register(60, users: 5, in: scene)
            let users = (0..<5).map { #""user-\#($0)""# }.joined(separator: ",")
            let values = (0..<5).map { #""user-\#($0)":{"n":"\#($0)\u0022"}"# }.joined(separator: ",")
            func envelope(_ values: String) -> String {
                #"{"id":"one","app":"shop","to":{"users":[\#(users)]},"values":{\#(values)},"#
                    + #""alert":{"locales":{"en":"{n} new","de":"neu: {n}"},"default":"en"}}"#
            }
            #expect(await scene.push(envelope(values)).outcome == .accepted)
            await scene.waitUntilDone()
            let bodies = await Self.bodies(scene)
            #expect(bodies.count == 60)
            for number in 0..<60 {
                let isGerman = Self.locales[number % Self.locales.count]?.hasPrefix("de") == true
                let body = isGerman ? "neu: \(number % 5)\"" : "\(number % 5)\" new"
                #expect(bodies[Self.address(number)] == [body])
            }
            #expect(await scene.push(envelope(values)).outcome == .duplicate)
            let other = await scene.push(envelope(values.replacing("4", with: "5", maxReplacements: 1)))
            #expect(String(decoding: other.text, as: UTF8.self).contains("rejected"))
            let changed = await scene.push(envelope(values.replacing(#"{"n":"4"#, with: #"{"n":"9"#)))
            #expect(String(decoding: changed.text, as: UTF8.self).contains("id_conflict"))
        }
    }

    @Test func `A message that was half out before a restart is completed in the words of each device`() async throws {
        try await FCMScene.run { scene in
            scene.tuning.withLock { $0 = { $0.deliveriesPerMinute = 6000 } }
            try await scene.openGateway(try await scene.credential())
            try await Self.register(300, in: scene)
            #expect(
                await scene.push(#"{"id":"one","app":"shop","to":{"all":true},\#(Self.alert)}"#).outcome == .accepted)
            await wait(while: await scene.service.with { $0.machine.records.count } < 20)
            await scene.close()
            let before = await scene.service.with { $0.machine.records.count }
            #expect(before < 300)
            scene.tuning.withLock { $0 = { _ in } }
            try await scene.open()
            try await scene.openGateway(try await scene.credential())
            await scene.waitUntilDone()
            let bodies = await Self.bodies(scene)
            #expect(bodies.count == 300)
            for number in 0..<300 { #expect(bodies[Self.address(number)] == [Self.words[number % Self.words.count]]) }
            #expect(try await scene.events().count { $0.kind == .deliverySent } == 300)
        }
    }
}
