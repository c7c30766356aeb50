import PushLoop
import Testing

@testable import PushSimulator

@Suite struct BroadcastTests {
    static let create = #"{"message-storage-policy":1,"push-type":"LiveActivity"}"#
    static let update = #"{"aps":{"event":"update","timestamp":1,"content-state":{}}}"#

    static func headers(_ method: String, _ path: String, _ changes: [String: String?] = [:]) -> [String: String?] {
        var headers: [String: String?] = [
            ":method": method, ":path": path, "apns-topic": nil, "apns-push-type": nil, "apns-priority": nil,
            "apns-expiration": nil, "apns-id": nil,
        ]
        headers.merge(changes) { $1 }
        return headers
    }

    static func newChannel(_ provider: Provider, policy: Int = 1) throws -> String {
        let body = #"{"message-storage-policy":\#(policy),"push-type":"LiveActivity"}"#
        let reaction = provider.send(headers("POST", "/1/apps/com.example.shop/channels"), body)
        #expect(reaction.status == 201)
        return try #require(provider.text(of: reaction).headers["apns-channel-id"])
    }

    static func broadcast(_ channel: String, _ changes: [String: String?] = [:]) -> [String: String?] {
        let usual: [String: String?] = [
            "apns-channel-id": channel, "apns-push-type": "liveactivity", "apns-expiration": "0", "apns-priority": "10",
        ]
        return headers("POST", "/4/broadcasts/apps/com.example.shop", usual.merging(changes) { $1 })
    }

    @Test("Channels can be created, read, listed and deleted")
    func channelsLiveAndDie() throws {
        let provider = try Provider()
        let channel = try Self.newChannel(provider)
        let other = try Self.newChannel(provider, policy: 0)
        #expect(channel != other)
        let path = "/1/apps/com.example.shop/channels"

        let read = provider.send(Self.headers("GET", path, ["apns-channel-id": channel]), "")
        #expect(read.status == 200)
        #expect(provider.text(of: read).body == #"{"message-storage-policy":1,"push-type":"LiveActivity"}"#)

        let list = provider.send(Self.headers("GET", "/1/apps/com.example.shop/all-channels"), "")
        #expect(provider.text(of: list).body == #"{"channels":["\#(channel)","\#(other)"]}"#)

        let removed = provider.send(Self.headers("DELETE", path, ["apns-channel-id": channel]), "")
        #expect(removed.status == 204)
        #expect(provider.text(of: removed).body == "")
        for method in ["GET", "DELETE"] {
            let gone = provider.send(Self.headers(method, path, ["apns-channel-id": channel]), "")
            #expect(gone.reason == .channelNotRegistered)
        }
        #expect(provider.send(Self.broadcast(channel), Self.update).reason == .channelNotRegistered)
        #expect(provider.send(Self.broadcast(other), Self.update).status == 200)
    }

    @Test("A channel belongs to one app and one environment")
    func channelsBelongToAnAppAndAnEnvironment() throws {
        let provider = try Provider()
        let channel = try Self.newChannel(provider)
        let foreign = Self.headers("GET", "/1/apps/com.example.other/channels", ["apns-channel-id": channel])
        #expect(provider.send(foreign, "").reason == .channelNotRegistered)
        provider.reconnect(environment: .sandbox)
        let own = Self.headers("GET", "/1/apps/com.example.shop/channels", ["apns-channel-id": channel])
        #expect(provider.send(own, "").reason == .channelNotRegistered)
    }

    static let creations: [(String, Reason)] = [
        (create, .none), (#"{"message-storage-policy":0,"push-type":"LiveActivity"}"#, .none), ("", .payloadEmpty),
        ("x", .badRequestPayload), ("[]", .badRequestPayload), (#"{"message-storage-policy":1}"#, .missingPushType),
        (#"{"message-storage-policy":1,"push-type":"liveactivity"}"#, .invalidPushType),
        (#"{"message-storage-policy":1,"push-type":7}"#, .invalidPushType),
        (#"{"push-type":"LiveActivity"}"#, .missingChannelQueueSize),
        (#"{"message-storage-policy":2,"push-type":"LiveActivity"}"#, .badRequestParams),
        (#"{"message-storage-policy":"1","push-type":"LiveActivity"}"#, .badRequestParams),
        (
            #"{"message-storage-policy":1,"push-type":"LiveActivity","x":""# + String(repeating: "x", count: 4096)
                + #""}"#, .payloadTooLarge
        ),
    ]

    @Test("The body that creates a channel is validated", arguments: creations)
    func judgesCreation(body: String, reason: Reason) throws {
        let provider = try Provider()
        let reaction = provider.send(Self.headers("POST", "/1/apps/com.example.shop/channels"), body)
        #expect(reaction.reason == reason)
        #expect(reaction.status == (reason == .none ? 201 : reason.status))
        #expect((provider.text(of: reaction).headers["apns-channel-id"] != nil) == (reason == .none))
        #expect(provider.machine.channels.count == (reason == .none ? 1 : 0))
    }

    static let paths: [(String, String, Reason)] = [
        ("GET", "/1/apps/", .badPath), ("GET", "/1/apps/com.example.shop", .badPath),
        ("GET", "/1/apps/com.example.shop/channel", .badPath), ("GET", "/1/apps//channels", .badPath),
        ("GET", "/1/apps/com.example.shop/channels/x", .badPath),
        ("PUT", "/1/apps/com.example.shop/channels", .methodNotAllowed),
        ("POST", "/1/apps/com.example.shop/all-channels", .methodNotAllowed),
        ("GET", "/4/broadcasts/apps/com.example.shop", .methodNotAllowed),
        ("POST", "/4/broadcasts/apps/", .badPath), ("POST", "/4/broadcasts/apps/com.example.shop/", .badPath),
        ("POST", "/4/broadcasts", .badPath), ("GET", "/1/apps/com.example.shop/channels", .missingChannelID),
        ("DELETE", "/1/apps/com.example.shop/channels", .missingChannelID),
        ("POST", "/4/broadcasts/apps/com.example.shop", .missingChannelID),
    ]

    @Test("Unknown paths and methods are rejected", arguments: paths)
    func judgesPaths(method: String, path: String, reason: Reason) throws {
        #expect(try Provider().send(Self.headers(method, path), "").reason == reason)
    }

    struct Case: Sendable, CustomTestStringConvertible {
        var changes: [String: String?]
        var body = BroadcastTests.update
        var policy = 1
        var reason: Reason
        var testDescription: String { "\(changes) \(reason)" }
    }

    static let broadcasts: [Case] = [
        Case(changes: [:], reason: .none), Case(changes: ["apns-channel-id": nil], reason: .missingChannelID),
        Case(changes: ["apns-channel-id": ""], reason: .missingChannelID),
        Case(changes: ["apns-channel-id": "not base64!"], reason: .badChannelID),
        Case(changes: ["apns-channel-id": "AAAA"], reason: .channelNotRegistered),
        Case(changes: ["apns-push-type": nil], reason: .missingPushType),
        Case(changes: ["apns-push-type": "alert"], reason: .invalidPushType),
        Case(changes: ["apns-push-type": "LiveActivity"], reason: .invalidPushType),
        Case(changes: ["apns-priority": nil], reason: .none), Case(changes: ["apns-priority": "1"], reason: .none),
        Case(changes: ["apns-priority": "2"], reason: .badPriority),
        Case(changes: ["apns-expiration": nil], reason: .badExpirationDate),
        Case(changes: ["apns-expiration": "x"], reason: .badExpirationDate),
        Case(changes: ["apns-expiration": "1767229200"], reason: .none),
        Case(changes: ["apns-expiration": "1767229200"], policy: 0, reason: .badExpirationDate),
        Case(changes: ["apns-request-id": "x"], reason: .badMessageID),
        Case(changes: ["apns-request-id": Provider.id], reason: .none),
        Case(changes: ["authorization": nil], reason: .missingProviderToken),
        Case(changes: [:], body: "", reason: .payloadEmpty), Case(changes: [:], body: "[]", reason: .badRequestPayload),
        Case(changes: [:], body: "x", reason: .badRequestPayload),
        Case(changes: [:], body: "{\"x\":\"" + String(repeating: "x", count: 5112) + "\"}", reason: .none),
        Case(changes: [:], body: "{\"x\":\"" + String(repeating: "x", count: 5113) + "\"}", reason: .payloadTooLarge),
    ]

    @Test("The headers and the body of a broadcast are validated", arguments: broadcasts)
    func judgesBroadcasts(_ example: Case) throws {
        let provider = try Provider()
        let channel = try Self.newChannel(provider, policy: example.policy)
        let reaction = provider.send(Self.broadcast(channel, example.changes), example.body)
        #expect(reaction.reason == example.reason)
        #expect(reaction.status == example.reason.status)
        let headers = provider.text(of: reaction).headers
        #expect(
            headers["apns-request-id"]
                == (example.changes["apns-request-id"] == Provider.id ? Provider.id : headers["apns-request-id"]))
        #expect(headers["apns-request-id"]?.count == 36)
        #expect(headers["apns-id"] == nil)
    }

    @Test("A broadcast that starts an activity causes a warning")
    func warnsOfAStart() throws {
        let provider = try Provider()
        let channel = try Self.newChannel(provider)
        let start =
            #"{"aps":{"event":"start","timestamp":1,"content-state":{},"attributes-type":"T","attributes":{},"alert":{}}}"#
        #expect(provider.send(Self.broadcast(channel), start).status == 200)
        #expect(provider.warnings == .broadcastStart)
        #expect(provider.machine.log.label(of: provider.lastRecord) == Array(channel.utf8))
    }

    @Test("The number of channels per app is limited")
    func boundsChannels() throws {
        let provider = try Provider(Provider.settings { $0.channelLimit = 2 })
        _ = try Self.newChannel(provider)
        _ = try Self.newChannel(provider)
        let third = provider.send(Self.headers("POST", "/1/apps/com.example.shop/channels"), Self.create)
        #expect(third.reason == .cannotCreateChannelConfig)
    }

    @Test("An app needs the broadcast capability")
    func needsTheCapability() throws {
        let provider = try Provider(Provider.settings { $0.broadcastApps = ["com.example.other"] })
        let refused = provider.send(Self.headers("POST", "/1/apps/com.example.shop/channels"), Self.create)
        #expect(refused.reason == .featureNotEnabled)
        let taken = provider.send(Self.headers("POST", "/1/apps/com.example.other/channels"), Self.create)
        #expect(taken.status == 201)
    }

    @Test("A certificate or key allows channels of its own topics only")
    func knowsWhoMay() throws {
        let certified = try Provider(certificate: CertificateIdentity(userID: "com.example.other"))
        let path = "/1/apps/com.example.shop/channels"
        #expect(certified.send(Self.headers("POST", path), Self.create).reason == .topicMismatch)
        let scoped = try Provider()
        let jwt = Provider.jwt(key: "TOPICS0000")
        let other = Self.headers("POST", "/1/apps/com.example.other/channels", ["authorization": "bearer \(jwt)"])
        #expect(scoped.send(other, Self.create).reason == .topicDisallowed)
        #expect(scoped.send(Self.headers("POST", path, ["authorization": "bearer \(jwt)"]), Self.create).status == 201)
    }

    @Test("Sending and management ports serve their own paths only")
    func keepsToItsPorts() throws {
        let sending = try Provider(services: .sending)
        #expect(sending.send(Self.headers("POST", "/1/apps/com.example.shop/channels"), Self.create).reason == .badPath)
        let management = try Provider(services: .management)
        let channel = try Self.newChannel(management)
        #expect(management.send(Self.broadcast(channel), Self.update).reason == .badPath)
    }
}
