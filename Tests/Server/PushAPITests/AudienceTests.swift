import FoundationEssentials
import PushModel
import ServerTestSupport
import TestSupport
import TestTraits
import Testing

@testable import PushAPI
@testable import PushStore

/// Audiences and deliveries over HTTP, with a real registry and a real ledger.
@Suite(.waits) struct AudienceTests {
    private static func count(_ to: String, in scene: StoreScene) async throws -> AudienceAnswer {
        let answer = try await scene.send("POST", "/v1/audience", #"{"app":"shop","to":\#(to)}"#, roles: "observe")
        #expect(answer.status == 200, "\(answer.text)")
        return try JSONDecoder().decode(AudienceAnswer.self, from: Data(answer.body))
    }

    private static func fill(_ scene: StoreScene, count: Int) async throws {
        var devices: [DeviceRegistration] = []
        for number in 0..<count {
            var device = DeviceRegistration(
                app: StoreScene.shop, token: Address(words: (UInt64(number) + 1, 2, 3, 4)))
            device.user = number % 2 == 0 ? "ada" : "bob"
            device.tags = number % 5 == 0 ? ["vip"] : []
            devices.append(device)
        }
        _ = try await scene.registry.register(devices)
    }

    @Test func `Every kind of audience is counted, with its first devices`() async throws {
        try await StoreScene.run { scene in
            try await Self.fill(scene, count: 25)
            let tokens = (0..<3).map { Address(words: (UInt64($0) + 1, 2, 3, 4)) }
            let ids = tokens.map { scene.ledger.identities.device(of: StoreScene.shop, token: $0) }
            _ = try await scene.registry.deactivate([ids[2]], reason: "lost")
            let all = try await Self.count(#"{"all":true}"#, in: scene)
            #expect(all.count == 24 && all.isComplete && Set(all.devices).count == 10)
            let users = try await Self.count(#"{"users":["ada","nobody"]}"#, in: scene)
            #expect(users.count == 12)
            let tags = try await Self.count(#"{"tags":"vip"}"#, in: scene)
            #expect(tags.count == 5 && tags.devices.count == 5)
            let named = try await Self.count(
                #"{"devices":["\#(ids[0])","\#(ids[2])","00000000000000000000000000000000"]}"#, in: scene)
            #expect(named.count == 1 && named.inactive == 1 && named.unknown == 1)
            let byToken = try await Self.count(
                #"{"tokens":[\#(tokens.map { "\"\($0.hex)\"" }.joined(separator: ","))]}"#, in: scene)
            #expect(byToken.count == 2 && byToken.inactive == 1)
        }
    }

    @Test func `The addresses that start, update and end Live Activities are counted as a message would choose them`()
        async throws
    {
        try await StoreScene.run { scene in
            let kinds: [(AddressKind, type: String?, activity: String?)] = [
                (.alert, nil, nil), (.pushToStart, "Delivery", nil), (.pushToStart, "Delivery", nil),
                (.pushToStart, "Match", nil), (.activity, "Delivery", "order-1"),
            ]
            _ = try await scene.registry.register(
                kinds.enumerated().map { number, kind in
                    var device = DeviceRegistration(
                        app: StoreScene.shop, token: Address(words: (UInt64(number) + 1, 2, 3, 4)))
                    device.user = "ada"
                    (device.place.kind, device.place.activityType, device.place.activity) = kind
                    return device
                })
            func count(_ to: String, _ activity: String) async throws -> Int {
                let body = #"{"app":"shop","to":\#(to),"live_activity":\#(activity)}"#
                let answer = try await scene.send("POST", "/v1/audience", body, roles: "observe")
                #expect(answer.status == 200, "\(answer.text)")
                return try JSONDecoder().decode(AudienceAnswer.self, from: Data(answer.body)).count
            }
            let start = #"{"event":"start","type":"Delivery","attributes":{"n":1}}"#
            for to in [#"{"users":["ada"]}"#, #"{"all":true}"#] { #expect(try await count(to, start) == 2) }
            #expect(try await count(#"{"all":true}"#, #"{"event":"start","type":"Match"}"#) == 1)
            #expect(try await count(#"{"activities":["order-1"]}"#, #"{"event":"update"}"#) == 1)
            #expect(try await count(#"{"all":true}"#, "null") == 1)
            for (to, activity) in [
                (#"{"all":true}"#, #"{"event":"update"}"#), (#"{"all":true}"#, #"{"event":"start"}"#),
                (#"{"all":true}"#, #"{"event":"begin"}"#), (#"{"all":true}"#, "5"), (#"{"all":true}"#, "{}"),
                (#"{"activities":["order-1"]}"#, start),
            ] {
                let body = #"{"app":"shop","to":\#(to),"live_activity":\#(activity)}"#
                let answer = try await scene.send("POST", "/v1/audience", body, roles: "observe")
                #expect(answer.status == 422, "\(activity): \(answer.text)")
            }
        }
    }

    @Test func `The count of a family is that of its apps, for keys of all of them`() async throws {
        try await StoreScene.run { scene in
            try await Self.fill(scene, count: 7)
            var other = DeviceRegistration(app: StoreScene.news, token: Address(words: (1, 2, 3, 4)))
            other.user = "ada"
            _ = try await scene.registry.register([other])
            let body = #"{"app":"all","to":{"users":["ada"]}}"#
            for apps in [nil, "news,shop"] as [String?] {
                let answer = try await scene.send("POST", "/v1/audience", body, roles: "observe", apps: apps)
                let found = try JSONDecoder().decode(AudienceAnswer.self, from: Data(answer.body))
                #expect(answer.status == 200 && found.count == 5 && found.isComplete, "\(answer.text)")
                #expect(found.devices.count == 5)
                #expect(found.members?.map(\.app) == ["shop", "news"] && found.members?.map(\.count) == [4, 1])
            }
            let once = try await scene.send(
                "POST", "/v1/audience", #"{"app":"all","to":{"users":["ada"]},"prefer":["news"]}"#, roles: "observe")
            let found = try JSONDecoder().decode(AudienceAnswer.self, from: Data(once.body))
            #expect(found.count == 1 && found.preferred == 4, "\(once.text)")
            #expect(found.members?.map(\.count) == [0, 1] && found.members?.map(\.preferred) == [4, nil])
            let refused = try await scene.send("POST", "/v1/audience", body, roles: "observe", apps: "shop")
            #expect(refused.status == 403 && !refused.text.contains("news"), "\(refused.text)")
            let tokens = try await scene.send(
                "POST", "/v1/audience", #"{"app":"all","to":{"tokens":["00"]}}"#, roles: "observe")
            #expect(tokens.status == 422 && tokens.text.contains("belong to a single app"), "\(tokens.text)")
        }
    }

    @Test func `A count ends at its limit and says so`() async throws {
        try await StoreScene.run { scene in
            try await Self.fill(scene, count: 5000)
            let answer = try await AudienceCount(scene.registry, most: 3000).count(
                PushRequest(Message(id: try #require(MessageID("m")), app: StoreScene.shop, payload: []), to: .everyone)
            )
            #expect(!answer.isComplete && answer.count >= 3000 && answer.count < 5000)
            #expect(answer.devices.count == 10)
        }
    }

    @Test(arguments: [
        ("", 400, "not JSON"), (#"{"app":"shop"}"#, 422, "/to: the value is missing"),
        (#"{"to":{"all":true}}"#, 422, "/app: the value is missing"),
        (#"{"app":"shop","to":{}}"#, 422, "/to: to must have exactly one of"),
        (#"{"app":"shop","to":5}"#, 422, "/to: to is a number"),
        (#"{"app":"shop","to":{"all":true},"alert":"x"}"#, 422, "there is no key"),
        (#"{"app":"shop","app":"shop","to":{"all":true}}"#, 422, "given twice"),
        (#"{"app":"nobody","to":{"all":true}}"#, 404, "nobody"), ("[]", 422, "object"),
    ])
    func `A faulty audience is rejected with its reason`(body: String, status: Int, part: String) async throws {
        try await StoreScene.run { scene in
            let answer = try await scene.send("POST", "/v1/audience", body, roles: "observe")
            #expect(answer.status == status && answer.text.contains(part), "\(answer.text)")
        }
    }

    @Test func `Rights are per app and role`() async throws {
        try await StoreScene.run { scene in
            let body = #"{"app":"shop","to":{"all":true}}"#
            let otherApp = try await scene.send("POST", "/v1/audience", body, roles: "observe", apps: "news")
            let otherRole = try await scene.send("POST", "/v1/audience", body, roles: "register,push")
            #expect([otherApp.status, otherRole.status] == [403, 403])
            let path = "/v1/apps/shop/messages/m/deliveries"
            let noRight = try await scene.send("GET", path, roles: "observe", apps: "news")
            let unknown = try await scene.send("GET", path, roles: "observe")
            #expect([noRight.status, unknown.status] == [403, 404])
        }
    }

    @Test func `The pages of deliveries together have each delivery once`() async throws {
        try await StoreScene.run { scene in
            let tokens = (1...250).map { Address(words: (UInt64($0), 2, 3, 4)) }
            // Each part has rows of its own, between those of another message.
            var ids: [DeliveryID] = []
            for start in stride(from: 0, to: tokens.count, by: 2) {
                ids += await scene.deliver("m", to: Array(tokens[start..<start + 2]))
                await scene.deliver("other", to: [tokens[start]])
            }
            await scene.deliver("m", to: [tokens[0]], app: StoreScene.news)
            var found: [String] = []
            var after = ""
            var pages = 0
            repeat {
                let answer = try await scene.send(
                    "GET", "/v1/apps/shop/messages/m/deliveries?limit=100\(after)", roles: "observe", apps: "shop")
                #expect(answer.status == 200)
                let page = try JSONDecoder().decode(DeliveryListAnswer.self, from: Data(answer.body))
                found += page.deliveries.compactMap(\.deliveryID)
                #expect(page.deliveries.allSatisfy { $0.outcome == "sent" && $0.device?.count == 32 })
                after = page.next.text.map { "&after=\($0)" } ?? ""
                pages += 1
            } while !after.isEmpty && pages < 100
            #expect(found == ids.map(\.description))
        }
    }
}
