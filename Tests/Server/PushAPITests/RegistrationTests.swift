import FoundationEssentials
import PushModel
import PushWire
import ServerTestSupport
import TestSupport
import TestTraits
import Testing

@testable import PushAPI
@testable import PushStore

/// Registration over HTTP, with a real registry and a real ledger.
@Suite(.waits) struct RegistrationTests {
    private static let path = "/v1/apps/shop/devices"
    private static let token = PipelineScene.token(1).hex

    private static func decoded<Value: Decodable>(_ answer: RawClient.Answer, as type: Value.Type = Value.self) throws
        -> Value
    {
        try JSONDecoder().decode(Value.self, from: Data(answer.body))
    }

    @Test func `A device registers, is known, is reactivated, and its token is in no answer and no event`() async throws
    {
        try await StoreScene.run { scene in
            let body =
                #"{"token":"\#(Self.token)","user":"ada l.","tags":["b","a","b"],"locale":"de","platform":"ios","#
                + #""app_version":"1.2","environment":"production"}"#
            var answers = [try await scene.send("POST", Self.path, body)]
            #expect(answers[0].status == 201)
            let made = try Self.decoded(answers[0], as: DeviceChangeAnswer.self)
            #expect(made.change == "registered")
            let device = try #require(DeviceID(made.id))
            let first = try #require(try await scene.registry.device(device))
            #expect(first.user == "ada l." && first.tags == ["a", "b"] && first.appVersion == "1.2")
            // A form, with the token in another spelling. What it leaves out stays.
            let form = "token=%3C\(Self.token.uppercased())%3E&tags=x,y"
            answers.append(
                try await scene.send("POST", Self.path, form, type: "application/x-www-form-urlencoded"))
            #expect(answers[1].status == 200)
            #expect(try Self.decoded(answers[1], as: DeviceChangeAnswer.self).change == "known")
            let second = try #require(try await scene.registry.device(device))
            #expect(second.user == "ada l." && second.tags == ["x", "y"] && second.locale == "de")
            #expect(try #require(second.seenAt) > #require(first.seenAt))
            _ = try await scene.registry.deactivate([device], reason: "lost")
            answers.append(try await scene.send("POST", Self.path, #"{"token":"\#(Self.token)","user":""}"#))
            #expect(answers[2].status == 200)
            #expect(try Self.decoded(answers[2], as: DeviceChangeAnswer.self).change == "reactivated")
            #expect(try await scene.registry.device(device)?.user == nil)
            let events = try await scene.events()
            #expect(events.count == 3)
            // The name has letters that no device id can have.
            for text in answers.map({ $0.head + $0.text }) + events {
                #expect(!text.lowercased().contains(Self.token) && !text.contains("ada l."))
            }
            let check = SchemaCheck(document: try Self.openAPI(scene))
            for answer in answers {
                let document = try JSONDocument(answer.body)
                #expect(
                    check.faults(
                        of: document.value(at: document.root), under: "#/components/schemas/DeviceChange") == [])
            }
        }
    }

    private static func openAPI(_ scene: StoreScene) throws -> JSONValue {
        OpenAPIDocument.make(
            of: PipelineEndpoints.all(
                on: scene.loop, streams: EventStreams(), devices: scene.registry, events: scene.ledger,
                waiting: CommittedEvents(),
                statistics: FakeStatistics([StatsAnswer(at: 2000, startedAt: 1000, ready: true)]),
                identities: scene.ledger.identities, apps: .sample(nil), seen: scene.seen), version: "1")
    }

    @Test func `A former token gives its properties to the new one, as far as the new one has none`() async throws {
        try await StoreScene.run { scene in
            let new = PipelineScene.token(2).hex
            _ = try await scene.send("POST", Self.path, #"{"token":"\#(Self.token)","user":"ada","tags":["a"]}"#)
            for _ in 0..<2 {
                let answer = try await scene.send(
                    "POST", Self.path, #"{"token":"\#(new)","replaces":"\#(Self.token)","locale":"fr"}"#)
                #expect(answer.status == 201 || answer.status == 200)
            }
            let ids = [1, 2].map { number in
                scene.ledger.identities.device(of: StoreScene.shop, token: PipelineScene.token(number))
            }
            let old = try await scene.registry.device(ids[0])
            #expect(old?.isActive == false && old?.reason == "replaced" && old?.user == nil && old?.tags == [])
            let device = try await scene.registry.device(ids[1])
            #expect(device?.user == "ada" && device?.tags == ["a"] && device?.locale == "fr")
            #expect(try await scene.events().count == 3)
        }
    }

    @Test func `Many registrations at once are all durable, share their commits, and name each device once`()
        async throws
    {
        let directory = try TemporaryDirectory()
        let count = 64
        try await StoreScene.run(in: directory) { scene in
            // Every request is sent before the first answer is read. Half of them name one token.
            let answers = try await scene.clients.run {
                let clients = try (0..<count).map { _ in try scene.connect() }
                for (number, client) in clients.enumerated() {
                    let token = PipelineScene.token(UInt8(number % 2 == 0 ? 200 : number)).hex
                    try client.send(StoreScene.text("POST", Self.path, #"{"token":"\#(token)"}"#))
                }
                return try clients.map { try $0.answer() }
            }
            #expect(answers.count { $0.status == 201 } == count / 2 + 1)
            #expect(answers.count { $0.status == 200 } == count / 2 - 1)
            #expect(try await scene.events().count == count / 2 + 1)
            let commits = await scene.ledger.status().commits.count
            #expect(commits < UInt64(count / 2))
        }
        try await StoreScene.run(in: directory) { scene in
            #expect(scene.registry.status.registered == count / 2 + 1)
        }
    }

    @Test func `Ten thousand repeats of a registration publish one event`() async throws {
        try await StoreScene.run { scene in
            let text = StoreScene.text("POST", Self.path, #"{"token":"\#(Self.token)","user":"ada"}"#)
            let statuses = try await scene.clients.run {
                let clients = try (0..<50).map { _ in try scene.connect() }
                var statuses: [Int: Int] = [:]
                for _ in 0..<200 {
                    for client in clients { try client.send(text) }
                    for client in clients { statuses[try client.answer().status, default: 0] += 1 }
                }
                return statuses
            }
            #expect(statuses == [201: 1, 200: 9999])
            #expect(try await scene.events().count == 1)
            #expect(scene.registry.status.registered == 1)
        }
    }

    /// The body of a registration, and the status, code and a part of its answer.
    static let refused: [(String, Int, String, String)] = [
        ("{}", 422, "invalid", "/token: the value is missing"),
        (#"{"token":"xyz"}"#, 422, "invalid", "/token: the value is invalid"),
        (#"{"token":5}"#, 422, "invalid", "a string is expected"),
        (#"{"token":{"endpoint":"https://a.example"}}"#, 422, "invalid", "it is an object, not a string"),
        (#"{"token":"aa","environment":"sandbox"}"#, 422, "invalid", "uses the environment production"),
        (#"{"token":"aa","environment":"moon"}"#, 422, "invalid", "uses the environment production"),
        (#"{"token":"aa","replaces":"AA"}"#, 422, "invalid", "the same as the new one"),
        (#"{"token":"aa","tags":["\#(String(repeating: "x", count: 129))"]}"#, 422, "invalid", "129 bytes"),
        (
            #"{"token":"aa","tags":[\#(Array(repeating: "\"a\"", count: 65).joined(separator: ","))]}"#, 422, "invalid",
            "65"
        ),
        (#"{"token":"aa","user":"a\u0000b"}"#, 422, "invalid", "control character"),
        (#"{"token":"aa","user":".."}"#, 422, "invalid", "/user: the user has a step . or .."),
        (#"{"token":"aa","user":"team/./ada"}"#, 422, "invalid", "/user: the user has a step . or .."),
        (#"{"token":"aa","installation":""}"#, 422, "invalid", "1 to 128 are allowed"),
        (
            #"{"token":"aa","installation":"\#(String(repeating: "x", count: 129))"}"#, 422, "invalid", "129 bytes"
        ),
        (#"{"token":"aa","time_zone":"../etc/passwd"}"#, 422, "invalid", "name of a time zone"),
        (#"{"token":"aa","time_zone":"/Europe"}"#, 422, "invalid", "name of a time zone"),
        (#"{"token":"aa","app":"news"}"#, 422, "invalid", "there is no key \"app\""),
        (#"{"token":"aa","token":"bb"}"#, 422, "invalid", "given twice"),
        (#"[{"token":"aa"}]"#, 422, "invalid", "an object is expected"),
        ("token=aa", 400, "bad_json", "not JSON"), ("\u{0}", 400, "bad_json", "not JSON"),
    ]

    @Test(arguments: refused) func `A faulty registration is rejected with its reason`(
        body: String, status: Int, code: String, part: String
    ) async throws {
        try await StoreScene.run { scene in
            let answer = try await scene.send("POST", Self.path, body)
            #expect(answer.status == status && answer.text.contains("\"code\":\"\(code)\""))
            #expect(answer.text.replacing("\\\"", with: "\"").contains(part), "\(answer.text)")
            #expect(scene.registry.status.registered == 0)
        }
    }

    @Test func `Rights are per app and role`() async throws {
        try await StoreScene.run { scene in
            let body = #"{"token":"\#(Self.token)"}"#
            #expect(try await scene.send("POST", Self.path, body, apps: "news").status == 403)
            #expect(try await scene.send("POST", Self.path, body, roles: "operate,push,observe").status == 403)
            #expect(try await scene.send("POST", "/v1/apps/nobody/devices", body).status == 404)
            #expect(try await scene.send("POST", Self.path, body, apps: "shop,news").status == 201)
            let id = scene.ledger.identities.device(of: StoreScene.shop, token: PipelineScene.token(1))
            let one = "\(Self.path)/\(id)"
            // A change.
            #expect(try await scene.send("PUT", one, #"{"user":"eve"}"#).status == 403)
            let other = #"{"user":"eve","token":"\#(PipelineScene.token(2).hex)"}"#
            #expect(try await scene.send("PUT", one, other).status == 403)
            #expect(try await scene.send("PUT", one, other, roles: "operate").status == 403)
            #expect(try await scene.send("PUT", one, #"{"user":"eve"}"#, roles: "operate", apps: "news").status == 403)
            #expect(try await scene.send("PUT", one, #"{"user":"eve"}"#, roles: "observe").status == 403)
            #expect(
                try await scene.send("PUT", "/v1/apps/news/devices/\(id)", #"{"user":"eve"}"#, roles: "operate").status
                    == 404)
            #expect(try await scene.registry.device(id)?.user == nil)
            let mine = #"{"user":"eve","token":"\#(Self.token)"}"#
            #expect(try await scene.send("PUT", one, mine).status == 200)
            #expect(try await scene.registry.device(id)?.user == "eve")
            // A removal.
            let refusal = try await scene.send("DELETE", one)
            #expect(refusal.status == 403)
            #expect(try await scene.send("POST", "\(Self.path)/remove", body, apps: "news").status == 403)
            #expect(try await scene.send("DELETE", "/v1/apps/news/devices/\(id)", roles: "operate").status == 404)
            #expect(try await scene.registry.device(id) != nil)
        }
    }

    @Test func `An operator changes a device without waking it`() async throws {
        try await StoreScene.run { scene in
            _ = try await scene.send("POST", Self.path, #"{"token":"\#(Self.token)","user":"ada"}"#)
            let id = scene.ledger.identities.device(of: StoreScene.shop, token: PipelineScene.token(1))
            _ = try await scene.registry.deactivate([id], reason: "lost")
            let before = try await scene.registry.device(id)
            let answer = try await scene.send(
                "PUT", "\(Self.path)/\(id)", #"{"user":"bob","tags":["t"]}"#, roles: "operate")
            #expect(answer.status == 200)
            let after = try await scene.registry.device(id)
            #expect(after?.user == "bob" && after?.tags == ["t"] && after?.isActive == false)
            #expect(after?.seenAt == before?.seenAt && scene.registry.inactive.contains(id))
            let missing = String(repeating: "0", count: 32)
            #expect(
                try await scene.send("PUT", "\(Self.path)/\(missing)", "{}", roles: "operate").status == 404)
            // An app does not create a device by a change.
            let token = PipelineScene.token(9)
            let unknown = scene.ledger.identities.device(of: StoreScene.shop, token: token)
            #expect(
                try await scene.send("PUT", "\(Self.path)/\(unknown)", #"{"token":"\#(token.hex)"}"#).status == 404)
            #expect(try await scene.registry.device(unknown) == nil)
        }
    }

    @Test func `A removed device leaves nothing but its id`() async throws {
        try await StoreScene.run { scene in
            for number in [1, 2] as [UInt8] {
                let body = #"{"token":"\#(PipelineScene.token(number).hex)","user":"ada","tags":["vip"]}"#
                _ = try await scene.send("POST", Self.path, body)
            }
            let ids = [1, 2].map { number in
                scene.ledger.identities.device(of: StoreScene.shop, token: PipelineScene.token(number))
            }
            let removed = try await scene.send("POST", "\(Self.path)/remove", #"{"token":"<\#(Self.token)>"}"#)
            #expect(try Self.decoded(removed) == RemovalAnswer(id: ids[0].description, removed: true))
            let again = try await scene.send("POST", "\(Self.path)/remove", #"{"token":"\#(Self.token)"}"#)
            #expect(try Self.decoded(again) == RemovalAnswer(id: ids[0].description, removed: false))
            #expect(try await scene.send("DELETE", "\(Self.path)/\(ids[1])", roles: "operate").status == 200)
            #expect(try await scene.send("DELETE", "\(Self.path)/\(ids[1])", roles: "operate").status == 404)
            #expect(try await scene.registry.device(ids[0]) == nil && scene.registry.status.registered == 0)
            let events = try await scene.events()
            #expect(events.count { $0.contains("\"reason\":\"removed\"") } == 2)
            #expect(events.allSatisfy { !$0.contains(Self.token) && !$0.contains("vip") })
        }
    }

    @Test func `The addresses of an installation are registered, found and removed together`() async throws {
        try await StoreScene.run { scene in
            func body(_ number: UInt8, _ kind: String, _ more: String = "") -> String {
                #"{"token":"\#(PipelineScene.token(number).hex)","kind":"\#(kind)","installation":"phone"\#(more)}"#
            }
            let shared = #","user":"ada","tags":["vip"],"time_zone":"Europe/Berlin""#
            #expect(try await scene.send("POST", Self.path, body(1, "alert", shared)).status == 201)
            #expect(try await scene.send("POST", Self.path, body(2, "voip")).status == 201)
            let activity = #","activity":"order-1","activity_type":"Delivery""#
            #expect(try await scene.send("POST", Self.path, body(3, "activity", activity)).status == 201)
            let found = try await scene.send("GET", "/v1/devices?app=shop&installation=phone", roles: "observe")
            let list = try Self.decoded(found, as: DeviceListAnswer.self).devices
            #expect(list.count == 3 && list.allSatisfy { $0.user == "ada" && $0.timeZone == "Europe/Berlin" })
            #expect(list.allSatisfy { $0.installation == "phone" && $0.tags == ["vip"] })
            let updated = try await scene.send("GET", "/v1/devices?activity=order-1", roles: "observe")
            #expect(try Self.decoded(updated, as: DeviceListAnswer.self).devices.map(\.activity) == ["order-1"])

            let both = #"{"installation":"phone","token":"\#(Self.token)"}"#
            for wrong in ["{}", both] {
                #expect(try await scene.send("POST", "\(Self.path)/remove", wrong).status == 422)
            }
            let path = "\(Self.path)/remove"
            #expect(try await scene.send("POST", path, #"{"installation":"phone"}"#, apps: "news").status == 403)
            let answer = try await scene.send("POST", path, #"{"installation":"phone"}"#)
            let removed = try Self.decoded(answer, as: InstallationRemovalAnswer.self)
            #expect(removed.installation == "phone" && Set(removed.devices) == Set(list.map(\.id)) && removed.removed)
            #expect(scene.registry.status.registered == 0)
            let again = try await scene.send("POST", path, #"{"installation":"phone"}"#)
            #expect(try Self.decoded(again, as: InstallationRemovalAnswer.self).removed == false)
            #expect(try await scene.events().count { $0.contains("\"reason\":\"removed\"") } == 3)
        }
    }

    @Test func `An installation that is full refuses another address`() async throws {
        try await StoreScene.run { scene in
            for number in 0...AddressLimits.standard {
                let body =
                    #"{"token":"\#(PipelineScene.token(UInt8(number)).hex)","kind":"activity","activity":"a\#(number)","#
                    + #""activity_type":"Delivery","installation":"phone"}"#
                let answer = try await scene.send("POST", Self.path, body)
                #expect(answer.status == (number < AddressLimits.standard ? 201 : 422))
                guard number == AddressLimits.standard else { continue }
                #expect(answer.text.contains("\"code\":\"too_many\"") && answer.text.contains("/installation"))
                let list = #"{"devices":[{"app":"shop",\#(body.dropFirst())]}"#
                let many = try await scene.send("POST", "/v1/devices", list, roles: "operate")
                #expect(many.status == 200 && many.text.contains("too_many"))
            }
        }
    }

    @Test func `An operator makes a device active again, until the push service rejects it again`() async throws {
        try await StoreScene.run { scene in
            _ = try await scene.send("POST", Self.path, #"{"token":"\#(Self.token)","user":"ada"}"#)
            let id = scene.ledger.identities.device(of: StoreScene.shop, token: PipelineScene.token(1))
            let path = "/v1/devices/\(id)/reactivate"
            let active = try await scene.send("POST", path, roles: "operate")
            #expect(try Self.decoded(active) == ReactivationAnswer(id: id.description, reactivated: false))
            _ = try await scene.registry.deactivate([id], reason: "Unregistered")
            #expect(try await scene.send("POST", path, roles: "observe").status == 403)
            #expect(try await scene.send("POST", path, roles: "operate", apps: "news").status == 404)
            #expect(scene.registry.inactive.contains(id))
            let before = try await scene.registry.device(id)
            let back = try await scene.send("POST", path, roles: "operate")
            #expect(try Self.decoded(back) == ReactivationAnswer(id: id.description, reactivated: true))
            let after = try await scene.registry.device(id)
            #expect(after?.isActive == true && after?.seenAt == before?.seenAt && after?.user == "ada")
            #expect(!scene.registry.inactive.contains(id))
            let last = try #require(try await scene.events().last)
            #expect(last.contains("\"kind\":\"reactivated\"") && last.contains("\"reason\":\"operator\""))
        }
    }
}
