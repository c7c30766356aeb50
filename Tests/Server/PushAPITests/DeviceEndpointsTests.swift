import FoundationEssentials
import PushModel
import ServerTestSupport
import TestSupport
import TestTraits
import Testing

@testable import PushAPI

@Suite(.waits) struct DeviceEndpointsTests {
    private static let token = PipelineScene.token(1).hex
    private static let id = PipelineScene.id(1).description

    @Test func `A device is registered, found, read and deactivated, and no answer contains its token`() async throws {
        try await withPipeline { scene in
            let client = scene.control.client
            let body = #"{"app":"shop","token":"\#(Self.token)","user":"ada","tags":["b","a","b"]}"#
            let made = try await client.send("POST", to: "/v1/devices", body: Array(body.utf8))
            #expect(
                String(decoding: made.body, as: UTF8.self) == "{\"change\":\"registered\",\"device\":\"\(Self.id)\"}\n")
            let shown = try await client.send("GET", to: "/v1/devices/\(Self.id)")
            #expect(
                String(decoding: shown.body, as: UTF8.self) == """
                    {"active":true,"app":"shop","device":"\(Self.id)","registered_at":1767225600000,\
                    "seen_at":1767225600000,"tags":["a","b"],"user":"ada"}

                    """)
            let found = try await client.send(
                "POST", to: "/v1/devices/find", body: Array(#"{"app":"shop","token":"\#(Self.token)"}"#.utf8))
            // The time of an answer is in its header.
            #expect(found.status == shown.status && found.body == shown.body)
            for isNew in [true, false] {
                let ended = try await client.ask(
                    "POST", at: "/v1/devices/\(Self.id)/deactivate", body: Array(#"{"reason":"lost"}"#.utf8),
                    for: DeactivationAnswer.self)
                #expect(ended == DeactivationAnswer(id: Self.id, deactivated: isNew))
            }
            let list = try await client.ask("GET", at: "/v1/devices?active=false", for: DeviceListAnswer.self)
            #expect(list.devices.map(\.reason) == ["lost"] && list.next == .end)
            let all = try await client.send("GET", to: "/v1/devices")
            #expect(!String(decoding: all.body, as: UTF8.self).contains(Self.token))
        }
    }

    @Test(arguments: ["/v1/devices", "/v1/apps/shop/devices"])
    func `An address has a kind, and a Live Activity`(path: String) async throws {
        try await withPipeline { scene in
            let client = scene.control.client
            let app = path == "/v1/devices" ? #""app":"shop","# : ""
            let body =
                #"{\#(app)"token":"\#(Self.token)","kind":"activity","activity":"order-4711","activity_type":"Order"}"#
            let made = try await client.send("POST", to: path, body: Array(body.utf8))
            #expect((200...201).contains(made.status), "\(String(decoding: made.body, as: UTF8.self))")
            let shown = try await client.ask("GET", at: "/v1/devices/\(Self.id)", for: DeviceAnswer.self)
            #expect((shown.kind, shown.activity, shown.activityType) == ("activity", "order-4711", "Order"))
        }
    }

    @Test func `Each device of a list is registered or rejected on its own`() async throws {
        try await withPipeline { scene in
            let good = #"{"app":"shop","token":"\#(Self.token)"}"#
            let body = #"{"devices":[\#(good),{"app":"nobody","token":"\#(Self.token)"},{"app":"shop"},\#(good)]}"#
            let answer = try await scene.control.client.ask(
                "POST", at: "/v1/devices", body: Array(body.utf8), for: RegistrationListAnswer.self)
            #expect(answer.devices.map(\.change) == ["registered", nil, nil, "known"])
            #expect(answer.devices.map(\.error?.code) == [nil, .unknownApp, .invalid, nil])
            #expect(scene.devices.registered.map(\.count) == [2])
        }
    }

    @Test(arguments: ["/v1/devices", "/v1/export/devices"])
    func `An invalid cursor is rejected`(path: String) async throws {
        try await withPipeline { scene in
            let answer = try await scene.control.client.send("GET", to: path + "?after=garbage")
            #expect(answer.status == 422)
            #expect(String(decoding: answer.body, as: UTF8.self).contains("\"parameter\":\"after\""))
        }
    }

    @Test func `A dry run returns the expected results and registers nothing`() async throws {
        try await withPipeline { scene in
            var gone = DeviceRecord(id: PipelineScene.id(2), app: PipelineScene.shop, token: PipelineScene.token(2))
            gone.deactivatedAt = 5
            scene.devices.put(gone)
            scene.devices.put(
                DeviceRecord(id: PipelineScene.id(3), app: PipelineScene.shop, token: PipelineScene.token(3)))
            let devices = [1, 2, 3, 1].map { #"{"app":"shop","token":"\#(PipelineScene.token(UInt8($0)).hex)"}"# }
            let body = #"{"devices":[\#(devices.joined(separator: ","))]}"#
            let answer = try await scene.control.client.ask(
                "POST", at: "/v1/devices?dry_run=true", body: Array(body.utf8), for: RegistrationListAnswer.self)
            #expect(answer.devices.map(\.change) == ["registered", "reactivated", "known", "known"])
            #expect(scene.devices.registered.isEmpty && scene.devices.count == 2)
        }
    }

    @Test func `The pages together contain each device once`() async throws {
        try await withPipeline { scene in
            for number in 1...25 {
                let (token, app) = (PipelineScene.token(UInt8(number)), PipelineScene.shop)
                scene.devices.put(
                    DeviceRecord(id: PipelineScene.identities.device(of: app, token: token), app: app, token: token))
            }
            for path in ["/v1/devices", "/v1/export/devices"] {
                var ids: [String] = []
                var cursor: String?
                repeat {
                    let answer = try await scene.control.client.send(
                        "GET", to: path + APIQuery.encoded([("limit", "10"), ("after", cursor)]))
                    let page = try JSONDecoder().decode(DeviceListAnswer.self, from: Data(answer.body))
                    ids += page.devices.map(\.id)
                    cursor = page.next.text
                    let hasTokens = String(decoding: answer.body, as: UTF8.self).contains("\"token\"")
                    #expect(hasTokens == path.contains("export"))
                } while cursor != nil
                #expect(Set(ids).count == 25 && ids.count == 25)
            }
        }
    }

    /// The method, path and body of a request, and the status, code and a part of the message of its answer.
    static let refused: [(String, String, String, Int, String, String)] = [
        (
            "GET", "/v1/devices?limit=0", "", 422, "invalid",
            "limit: a whole number from 1 to 1000 is expected, not \"0\""
        ),
        ("GET", "/v1/devices?limit=1001", "", 422, "invalid", "limit: a whole number"),
        ("GET", "/v1/devices?limit=-1", "", 422, "invalid", "limit: a whole number"),
        ("GET", "/v1/devices?active=yes", "", 422, "invalid", "active: true or false is expected, not \"yes\""),
        ("GET", "/v1/devices?ap=shop", "", 422, "invalid", "no query parameter \"ap\" here; did you mean \"app\""),
        ("GET", "/v1/devices?app=shop&app=news", "", 422, "invalid", "app: the query parameter is given twice"),
        ("GET", "/v1/devices?app=nobody", "", 404, "unknown_app", "nobody"),
        ("GET", "/v1/devices?app=a%2Fb", "", 422, "invalid", "app: the value is invalid"),
        (
            "GET", "/v1/devices?user=\(String(repeating: "x", count: 1025))", "", 422, "invalid",
            "user: the text has 1025 bytes; 1 to 1024 are allowed"
        ),
        ("GET", "/v1/devices/xyz", "", 422, "invalid", "32 lower-case hexadecimal digits"),
        (
            "GET", "/v1/devices/\(String(repeating: "0", count: 32))", "", 404, "unknown_device",
            "there is no device 0000"
        ),
        ("GET", "/v1/devices/\(String(repeating: "A", count: 32))", "", 422, "invalid", "lower-case"),
        ("DELETE", "/v1/devices", "", 405, "method_not_allowed", "use GET, HEAD, POST"),
        ("POST", "/v1/devices", "", 400, "bad_json", "not JSON"),
        ("POST", "/v1/devices", "{}", 422, "invalid", "app is missing"),
        ("POST", "/v1/devices", "[]", 422, "invalid", "a device is an object, not an array"),
        ("POST", "/v1/devices", #"{"app":"shop","tokn":"aa"}"#, 422, "invalid", "did you mean \"token\"?"),
        ("POST", "/v1/devices", #"{"app":"shop","token":"zz"}"#, 422, "invalid", "token is not a device token"),
        ("POST", "/v1/devices", #"{"app":"shop","token":"aa","tags":[""]}"#, 422, "invalid", "a tag has 0 bytes"),
        ("POST", "/v1/devices", #"{"app":"x","token":"aa"}"#, 404, "unknown_app", "there is no app \"x\""),
        ("POST", "/v1/devices", #"{"app":"shop","app":"news","token":"aa"}"#, 422, "invalid", "given twice"),
        ("POST", "/v1/devices", #"{"devices":[]}"#, 422, "invalid", "there are 0 devices; 1 to 1000"),
        ("POST", "/v1/devices", #"{"devices":[{}],"app":"shop"}"#, 422, "invalid", "and nothing else"),
        ("POST", "/v1/devices", #"{"devices":{}}"#, 422, "invalid", "and nothing else"),
        (
            "POST", "/v1/devices/find", #"{"app":"shop","token":"aa","user":"x"}"#, 422, "invalid",
            "/user: there is no key"
        ),
        ("GET", "/v1/devices?kind=viop", "", 422, "invalid", "did you mean \"voip\"?"),
        (
            "POST", "/v1/devices", #"{"app":"shop","token":"aa","kind":"viop"}"#, 422, "invalid",
            "did you mean \"voip\"?"
        ),
        ("POST", "/v1/devices", #"{"app":"shop","token":"aa","kind":7}"#, 422, "invalid", "kind is a string"),
        (
            "POST", "/v1/devices", #"{"app":"shop","token":"aa","kind":"activity","activity_type":"A"}"#, 422,
            "invalid",
            "activity is missing"
        ),
        (
            "POST", "/v1/apps/shop/devices", #"{"token":"aa","kind":"push_to_start"}"#, 422, "invalid",
            "/activity_type: activity_type is missing"
        ),
        (
            "POST", "/v1/apps/shop/devices", #"{"token":"aa","kind":"alert","activity_type":"A"}"#, 422, "invalid",
            "/activity_type: activity_type needs the kind activity or push_to_start"
        ),
        (
            "POST", "/v1/apps/shop/devices", #"{"token":"aa","activity":"a"}"#, 422, "invalid",
            "/activity: activity needs the kind activity"
        ),
        (
            "POST", "/v1/apps/shop/devices", #"{"token":"aa","kind":"activity","activity":""}"#, 422, "invalid",
            "/activity: the text has 0 bytes"
        ),
        ("POST", "/v1/devices/find", #"{"app":"shop","token":"aa"}"#, 404, "unknown_device", "there is no device"),
        ("POST", "/v1/devices/\(id)/deactivate", "{}", 422, "invalid", "/reason: the value is missing"),
        (
            "POST", "/v1/devices/\(id)/deactivate", #"{"why":"x"}"#, 422, "invalid",
            "/reason: the value is missing, and 1 more"
        ),
        (
            "POST", "/v1/devices/\(id)/deactivate", #"{"reason":"a\nb"}"#, 422, "invalid",
            "/reason: the text contains a control character"
        ),
        (
            "POST", "/v1/devices/\(id)/deactivate", #"{"reason":"a\u009bb"}"#, 422, "invalid",
            "/reason: the text contains a control character"
        ),
        ("POST", "/v1/devices/\(id)/deactivate", #"{"reason":"x"}"#, 404, "unknown_device", "there is no device"),
    ]

    @Test func `A wrong request is answered with status, code and reason`() async throws {
        try await withPipeline { scene in
            for (method, path, body, status, code, message) in Self.refused {
                let answer = try await scene.control.client.send(method, to: path, body: Array(body.utf8))
                #expect(answer.status == status, "\(method) \(path) \(body)")
                let problem = try JSONDecoder().decode(Problem.self, from: Data(answer.body))
                #expect(
                    problem.code.rawValue == code && problem.detail.contains(message), "\(path) \(body): \(problem)")
            }
            #expect(scene.devices.registered.isEmpty)
        }
    }

    @Test func `A query is encoded without the items that are nil`() throws {
        #expect(APIQuery.encoded([("a", "x y/ä"), ("b", nil), ("c", "")]) == "?a=x%20y%2F%C3%A4&c=")
        #expect(APIQuery.encoded([("a", nil)]) == "")
    }
}
