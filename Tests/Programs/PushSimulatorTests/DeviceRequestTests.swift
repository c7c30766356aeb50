import PushLoop
import Testing

@testable import PushSimulator

@Suite struct DeviceRequestTests {
    @Test("A valid request is accepted")
    func takesAGoodRequest() throws {
        let provider = try Provider()
        let reaction = provider.send()
        #expect(reaction.status == 200)
        #expect(reaction.action == .answer)
        let (headers, body) = provider.text(of: reaction)
        #expect(headers == ["apns-id": Provider.id])
        #expect(body == "")
        #expect(provider.warnings == [])
    }

    /// A valid request with one change, and the expected answer.
    struct Case: CustomTestStringConvertible, Sendable {
        var changes: [String: String?]
        var reason: Reason
        var testDescription: String { "\(changes) \(reason)" }
        init(_ changes: [String: String?], _ reason: Reason) {
            self.changes = changes
            self.reason = reason
        }
    }

    static let token = Provider.token
    static let cases: [Case] = [
        // The request line.
        Case([":method": "GET"], .methodNotAllowed), Case([":method": "post"], .methodNotAllowed),
        Case([":method": nil], .methodNotAllowed), Case([":path": nil], .badPath), Case([":path": "/"], .badPath),
        Case([":path": "/3/devices/\(token)"], .badPath), Case([":path": "/2/device/\(token)"], .badPath),
        Case([":path": "/3/device"], .missingDeviceToken), Case([":path": "/3/device/"], .missingDeviceToken),
        // Tokens may have any even number of digits from 64 to 200.
        Case([":path": "/3/device/ab"], .badDeviceToken),
        Case([":path": "/3/device/" + String(repeating: "0a", count: 31)], .badDeviceToken),
        Case([":path": "/3/device/\(token.uppercased())"], .none),
        Case([":path": "/3/device/" + String(repeating: "0a", count: 100)], .none),
        Case([":path": "/3/device/" + String(repeating: "0a", count: 37)], .none),
        Case([":path": "/3/device/" + String(repeating: "0a", count: 101)], .badDeviceToken),
        Case([":path": "/3/device/abc"], .badDeviceToken), Case([":path": "/3/device/\(token)/"], .badDeviceToken),
        Case([":path": "/3/device/\(token.dropLast())g"], .badDeviceToken),
        Case([":path": "/3/device/zz"], .badDeviceToken), Case([":path": "/3/device/\(token)?a=b"], .badDeviceToken),
        // The `apns-id` header.
        Case(["apns-id": nil], .none), Case(["apns-id": Provider.id.uppercased()], .none),
        Case(["apns-id": ""], .badMessageID), Case(["apns-id": "1"], .badMessageID),
        Case(["apns-id": Provider.id + "0"], .badMessageID),
        Case(["apns-id": "eabeae5414a811e5b60b1697f925ec7b"], .badMessageID),
        Case(["apns-id": "eabeae54-14a8-11e5-b60b-1697f925ec7g"], .badMessageID),
        Case(["apns-id": "eabeae54-14a8-11e5-b60b+1697f925ec7b"], .badMessageID),
        Case(["apns-id": "eabeae5-414a8-11e5-b60b-1697f925ec7b"], .badMessageID),
        // The `apns-expiration` header.
        Case(["apns-expiration": nil], .none), Case(["apns-expiration": "0"], .none),
        Case(["apns-expiration": ""], .badExpirationDate), Case(["apns-expiration": "-1"], .badExpirationDate),
        Case(["apns-expiration": "1.5"], .badExpirationDate), Case(["apns-expiration": "tomorrow"], .badExpirationDate),
        Case(["apns-expiration": "99999999999999999999"], .badExpirationDate),
        // The `apns-priority` header.
        Case(["apns-priority": nil], .none), Case(["apns-priority": "5"], .none), Case(["apns-priority": "1"], .none),
        Case(["apns-priority": "0"], .badPriority), Case(["apns-priority": "11"], .badPriority),
        Case(["apns-priority": ""], .badPriority), Case(["apns-priority": "05"], .badPriority),
        // The `apns-collapse-id` header.
        Case(["apns-collapse-id": String(repeating: "c", count: 64)], .none),
        Case(["apns-collapse-id": String(repeating: "c", count: 65)], .badCollapseID),
        Case(["apns-collapse-id": String(repeating: "é", count: 33)], .badCollapseID),
        // The `apns-topic` header.
        Case(["apns-topic": nil], .missingTopic), Case(["apns-topic": ""], .missingTopic),
        Case(["apns-topic": "com.exa mple"], .badTopic), Case(["apns-topic": "com.exämple"], .badTopic),
        Case(["apns-topic": String(repeating: "t", count: 256)], .badTopic),
        // The `apns-push-type` header and the topic that it requires.
        Case(["apns-push-type": nil], .none), Case(["apns-push-type": "Alert"], .invalidPushType),
        Case(["apns-push-type": ""], .invalidPushType), Case(["apns-push-type": "push"], .invalidPushType),
        Case(["apns-push-type": "background", "apns-priority": "5"], .none),
        Case(["apns-push-type": "background", "apns-priority": nil], .none),
        Case(["apns-push-type": "background"], .badPriority),
        Case(["apns-push-type": "background", "apns-priority": "1"], .badPriority),
        Case(["apns-push-type": "voip"], .badTopic),
        Case(["apns-push-type": "voip", "apns-topic": "com.example.shop.voip"], .none),
        Case(["apns-push-type": "alert", "apns-topic": "com.example.shop.voip"], .invalidPushType),
        Case(["apns-push-type": nil, "apns-topic": "com.example.shop.voip"], .none),
        Case(["apns-push-type": "voip", "apns-topic": ".voip"], .badTopic),
        Case(["apns-push-type": "complication", "apns-topic": "com.example.shop.complication"], .none),
        Case(["apns-push-type": "fileprovider", "apns-topic": "com.example.shop.pushkit.fileprovider"], .none),
        Case(["apns-push-type": "mdm", "apns-topic": "com.apple.mgmt.External.1"], .none),
        Case(["apns-push-type": "location", "apns-topic": "com.example.shop.location-query"], .none),
        Case(["apns-push-type": "liveactivity", "apns-topic": "com.example.shop.push-type.liveactivity"], .none),
        Case(["apns-push-type": "liveactivity"], .badTopic),
        Case(["apns-push-type": "liveactivity", "apns-topic": "com.example.shop.voip"], .badTopic),
        Case(["apns-push-type": "pushtotalk", "apns-topic": "com.example.shop.voip-ptt"], .none),
        Case(["apns-push-type": "widgets", "apns-topic": "com.example.shop.push-type.widgets"], .none),
        Case(["apns-push-type": "controls", "apns-topic": "com.example.shop.push-type.controls"], .none),
        Case(["apns-push-type": "controls", "apns-topic": "com.example.shop.push-type.widgets"], .badTopic),
        Case(["apns-push-type": "accessory", "apns-topic": "com.example.shop.push-type.accessory"], .none),
        Case(["apns-push-type": "accessory"], .badTopic),
        // The authorization.
        Case(["authorization": nil], .missingProviderToken), Case(["authorization": "bearer "], .missingProviderToken),
        Case(["authorization": "Basic abcdef"], .missingProviderToken),
        Case(["authorization": ""], .missingProviderToken),
        Case(["authorization": "BEARER \(Provider.jwt())"], .none),
        Case(["authorization": "bearer x"], .invalidProviderToken),
    ]

    @Test("Each header is validated", arguments: cases)
    func judges(_ example: Case) throws {
        let provider = try Provider()
        let reaction = provider.send(example.changes)
        #expect(reaction.reason == example.reason)
        #expect(reaction.status == example.reason.status)
        #expect(provider.lastRecord.status == example.reason.status)
        let body = provider.text(of: reaction).body
        #expect(body == (example.reason == .none ? "" : "{\"reason\":\"\(example.reason.name)\"}"))
    }

    @Test(
        "A repeated header is rejected",
        arguments: [
            "apns-id", "apns-topic", "authorization", "apns-priority", "apns-expiration", "apns-push-type", ":path",
            ":method", "apns-collapse-id",
        ])
    func refusesRepeatedHeaders(_ name: String) throws {
        let provider = try Provider()
        let headers = Provider.headers(["apns-collapse-id": "c"])
        let value = try #require(headers.first { $0.0 == name }).1
        #expect(provider.send(headers + [(name, value)], Array(Provider.payload.utf8)).reason == .duplicateHeaders)
    }

    @Test("Headers that the service does not use may repeat")
    func letsOtherHeadersRepeat() throws {
        let provider = try Provider()
        let headers = Provider.headers() + [("cookie", "a"), ("cookie", "b"), ("x", "")]
        #expect(provider.send(headers, Array(Provider.payload.utf8)).status == 200)
    }

    @Test("If a request has several errors, the first one in the order of the checks is answered")
    func looksAtOneThingAfterAnother() throws {
        let order: [([String: String?], Reason)] = [
            ([":method": "GET"], .methodNotAllowed), ([":path": "/3/device/"], .missingDeviceToken),
            (["apns-id": "x"], .badMessageID), (["authorization": nil], .missingProviderToken),
            (["apns-expiration": "x"], .badExpirationDate), (["apns-priority": "x"], .badPriority),
            (["apns-collapse-id": String(repeating: "c", count: 65)], .badCollapseID),
            (["apns-push-type": "x"], .invalidPushType), (["apns-topic": nil], .missingTopic),
        ]
        for first in order.indices {
            var changes: [String: String?] = [:]
            for (change, _) in order[first...] { changes.merge(change) { old, _ in old } }
            let provider = try Provider()
            #expect(provider.send(changes, "").reason == order[first].1)
        }
    }

    // MARK: Payload

    private static func padded(_ length: Int) -> String {
        let frame = #"{"aps":{"alert":""}}"#
        return #"{"aps":{"alert":""# + String(repeating: "x", count: length - frame.utf8.count) + #""}}"#
    }

    @Test(
        "The size of the payload is limited by its push type",
        arguments: [
            ("alert", "com.example.shop", 4096), ("voip", "com.example.shop.voip", 5120),
            (nil, "com.example.shop.voip", 5120),
            (nil, "com.example.shop", 4096), ("liveactivity", "com.example.shop.push-type.liveactivity", 4096),
        ] as [(String?, String, Int)])
    func limitsThePayload(type: String?, topic: String, limit: Int) throws {
        let provider = try Provider()
        let changes = ["apns-push-type": type, "apns-topic": topic]
        #expect(provider.send(changes, Self.padded(limit)).reason == Reason.none)
        #expect(provider.send(changes, Self.padded(limit + 1)).reason == .payloadTooLarge)
        #expect(provider.send(changes, "").reason == .payloadEmpty)
    }

    @Test(
        "A payload must be a JSON object",
        arguments: ["x", "[]", "\"aps\"", "{\"aps\":{}", "{\"aps\":{}}}", "null", "{\"aps\":{\"alert\":\"\u{1}\"}}"])
    func wantsAnObject(_ payload: String) throws {
        #expect(try Provider().send([:], payload).reason == .payloadEmpty)
    }

    @Test(
        "Payload problems that Apple ignores cause warnings",
        arguments: [
            ("alert", "", "{}", .apsMissing), ("alert", "", #"{"aps":[]}"#, .apsNotAnObject),
            ("alert", "", #"{"aps":{"alert":"a","alret":1}}"#, .apsKeyUnknown),
            ("alert", "", #"{"aps":{"alert":"a","alert":"b"}}"#, .apsKeyRepeated),
            ("alert", "", #"{"aps":{"badge":"1"}}"#, .apsValueOfWrongType),
            ("alert", "", #"{"aps":{"mutable-content":1}}"#, .alertWithNothingToShow),
            ("background", "", #"{"aps":{}}"#, .backgroundWithoutContentAvailable),
            ("background", "", #"{"aps":{"content-available":1,"badge":1}}"#, .backgroundWithAlert),
            ("background", "", #"{"aps":{"content-available":1}}"#, []),
            ("voip", ".voip", #"{"aps":{}}"#, []), ("complication", ".complication", #"{"aps":{}}"#, []),
            ("mdm", "", #"{"mdm":"magic"}"#, []), ("mdm", "", #"{"aps":{}}"#, [.mdmKeyMissing, .mdmWithAPS]),
            ("fileprovider", ".pushkit.fileprovider", #"{"container-identifier":"c","domain":"d"}"#, []),
            ("fileprovider", ".pushkit.fileprovider", "{}", .containerIdentifierMissing),
            ("widgets", ".push-type.widgets", #"{"aps":{"content-changed":true}}"#, []),
            (
                "controls", ".push-type.controls", #"{"aps":{"content-changed":1}}"#,
                [.contentChangedMissing, .apsValueOfWrongType]
            ),
            (
                "accessory", ".push-type.accessory",
                #"{"aps":{"encryptedData":"e","sessionIdentifier":"s","keyID":"k","messageIndex":"7"}}"#, []
            ),
            (
                "accessory", ".push-type.accessory",
                #"{"aps":{"encryptedData":"e","sessionIdentifier":"s","keyID":7}}"#,
                [.accessoryKeyMissing, .apsValueOfWrongType]
            ),
            ("location", ".location-query", #"{"aps":{}}"#, []),
            ("pushtotalk", ".voip-ptt", #"{"aps":{}}"#, []),
            (
                "liveactivity", ".push-type.liveactivity",
                #"{"aps":{"event":"update","timestamp":1,"content-state":{}}}"#, []
            ),
            (
                "liveactivity", ".push-type.liveactivity", #"{"aps":{}}"#,
                [.activityEventMissing, .activityTimestampMissing, .activityContentStateMissing]
            ),
            (
                "liveactivity", ".push-type.liveactivity",
                #"{"aps":{"event":"stop","timestamp":1,"content-state":{}}}"#,
                .activityEventUnknown
            ),
            (
                "liveactivity", ".push-type.liveactivity",
                #"{"aps":{"event":"start","timestamp":1,"content-state":{}}}"#,
                .activityStartIncomplete
            ),
            (
                "liveactivity", ".push-type.liveactivity",
                #"{"aps":{"event":"start","timestamp":1,"content-state":{},"attributes-type":"T","attributes":{},"alert":{}}}"#,
                []
            ),
        ] as [(String, String, String, Warnings)])
    func warns(type: String, suffix: String, payload: String, warnings: Warnings) throws {
        let provider = try Provider()
        let topic = type == "mdm" ? "com.apple.mgmt.External.1" : "com.example.shop" + suffix
        let priority = type == "background" ? "5" : "10"
        let changes = [
            "apns-push-type": type, "apns-topic": topic, "apns-priority": priority,
            "apns-expiration": type == "pushtotalk" ? "0" : nil,
        ]
        #expect(provider.send(changes, payload).status == 200)
        #expect(provider.warnings == warnings, "\(provider.warnings.list)")
        #expect(provider.warnings.list.count == warnings.rawValue.nonzeroBitCount)
    }

    @Test(
        "Header problems that Apple ignores cause warnings",
        arguments: [
            (["apns-push-type": nil], .pushTypeMissing), (["apns-expiration": "1767225599"], .expirationPassed),
            (["apns-expiration": "\(1_767_225_600 + 31 * 86_400)"], .expirationTooFar),
            (
                [
                    "apns-push-type": "pushtotalk", "apns-topic": "a.voip-ptt", "apns-priority": "5",
                    "apns-expiration": "0",
                ], .pushToTalkPriority
            ),
            (["apns-push-type": "pushtotalk", "apns-topic": "a.voip-ptt"], .pushToTalkExpiration),
            (
                ["apns-push-type": "location", "apns-topic": "a.location-query", "apns-priority": "1"],
                .locationPriority
            ),
        ] as [([String: String?], Warnings)])
    func warnsOfHeaders(changes: [String: String?], warnings: Warnings) throws {
        let provider = try Provider()
        #expect(provider.send(changes).status == 200)
        #expect(provider.warnings == warnings)
    }

    // MARK: Answer

    @Test("The id of the request is returned, or a new one is generated")
    func echoesTheIDOrMakesOne() throws {
        let provider = try Provider()
        #expect(
            provider.text(of: provider.send(["apns-id": Provider.id.uppercased()])).headers["apns-id"]
                == Provider.id.uppercased())
        let first = try #require(provider.text(of: provider.send(["apns-id": nil])).headers["apns-id"])
        let second = try #require(provider.text(of: provider.send(["apns-id": nil])).headers["apns-id"])
        #expect(first != second)
        #expect(first.wholeMatch(of: /[0-9A-F]{8}-[0-9A-F]{4}-4[0-9A-F]{3}-[89AB][0-9A-F]{3}-[0-9A-F]{12}/) != nil)
        // An invalid id is not returned.
        #expect(provider.text(of: provider.send(["apns-id": "x"])).headers["apns-id"]?.count == 36)
    }

    @Test("Only the sandbox returns `apns-unique-id`")
    func namesTheLogEntryInTheSandboxOnly() throws {
        let sandbox = try Provider(environment: .sandbox)
        #expect(sandbox.text(of: sandbox.send()).headers["apns-unique-id"]?.count == 36)
        let production = try Provider()
        #expect(production.text(of: production.send()).headers["apns-unique-id"] == nil)
    }

    @Test("A management port rejects notifications")
    func servesOnlyItsOwnPaths() throws {
        let management = try Provider(services: .management)
        #expect(management.send().reason == .badPath)
        #expect(management.send([":path": "/3/device"]).reason == .badPath)
    }

    @Test("Every reason has a distinct name and an error status")
    func reasonsHaveDistinctNames() {
        let names = Reason.allCases.map { $0.name.description }
        #expect(Set(names).count == names.count)
        for reason in Reason.allCases where reason != .none && reason != .custom {
            #expect(Reason(named: reason.name.description) == reason)
            #expect((400...599).contains(reason.status))
        }
        #expect(Reason(named: "Nonsense") == nil)
        #expect(Reason.allCases.count <= 64, "the table of counts has 64 entries")
    }
}
