import PushLoop
import TestSupport
import TestTraits
import Testing

@testable import PushSimulator

@Suite struct RequestFuzzTests {
    @Test("Every request has exactly one answer and one record", .waits)
    func everyRequestHasOneAnswer() throws {
        let provider = try Provider(
            script:
                "{rules: [{match: {share: 0.01}, goaway: {back: 1}}, {match: {share: 0.01}, reset: 'CANCEL'}, {match: {share: 0.01}, close: true}]}"
        )
        _ = provider.machine.devices.set(
            .init(state: .unregistered, since: noon), for: SimulatedDevices.Pattern("aa*")!)
        var random = SeededRandom(seed: 99)
        let names = [
            ":method", ":path", "authorization", "apns-topic", "apns-push-type", "apns-id", "apns-expiration",
            "apns-priority",
            "apns-collapse-id", "apns-channel-id", "apns-request-id", "x", "",
        ]
        let values = [
            "", "POST", "GET", "DELETE", "/3/device/\(Provider.token)",
            "/3/device/" + String(repeating: "a", count: 64), "/3/device/aabb", "/1/apps/a.b/channels",
            "/1/apps/a.b/all-channels",
            "/4/broadcasts/apps/a.b", "bearer \(Provider.jwt())", "bearer a.b.c", "a.b", "a.b.voip",
            "a.b.push-type.liveactivity",
            "alert", "background", "voip", "liveactivity", Provider.id, "0", "5", "10", "1767229200", "AAAA",
        ]
        let payloads = [
            Provider.payload, "", "{}", "[", BroadcastTests.create, BroadcastTests.update, "{\"mdm\":\"x\"}",
        ]
        var statuses: Set<UInt16> = []
        for step in 1...20_000 as ClosedRange<UInt64> {
            var headers = Provider.headers()
            for _ in 0..<Int.random(in: 0...4, using: &random) {
                let place = Int.random(in: 0..<headers.count, using: &random)
                switch Int.random(in: 0..<4, using: &random) {
                case 0: headers.remove(at: place)
                case 1:
                    headers.insert(
                        (names.randomElement(using: &random)!, values.randomElement(using: &random)!), at: place)
                case 2: headers[place].1 = values.randomElement(using: &random)!
                default:
                    var bytes = Array(headers[place].1.utf8)
                    if !bytes.isEmpty {
                        bytes[Int.random(in: 0..<bytes.count, using: &random)] = UInt8.random(
                            in: 0..<128, using: &random)
                    }
                    headers[place].1 = String(decoding: bytes, as: UTF8.self)
                }
            }
            var payload = Array(payloads.randomElement(using: &random)!.utf8)
            if !payload.isEmpty, Int.random(in: 0..<4, using: &random) == 0 {
                payload[Int.random(in: 0..<payload.count, using: &random)] = UInt8(truncatingIfNeeded: random.next())
            }
            let reaction = provider.send(headers, payload, at: after(Int64.random(in: 0..<4000, using: &random)))
            statuses.insert(reaction.status)
            #expect(reaction.record == step)
            #expect(provider.machine.log.ring.newest == step)
            if reaction.reason != .none { #expect(reaction.status == reaction.reason.status) }
            let (answer, body) = provider.text(of: reaction)
            #expect((answer["apns-id"] ?? answer["apns-request-id"])?.count == 36)
            #expect(body.isEmpty || scan(body) != nil)
            if provider.connection.lastStream != Int32.max || provider.connection.isClosing == true {
                provider.reconnect()
            }
        }
        #expect(statuses.isSuperset(of: [200, 201, 400, 403, 404, 405, 410]))
        #expect(provider.control("GET", "/received", "payload=true&limit=100000").status == 200)
    }
}
