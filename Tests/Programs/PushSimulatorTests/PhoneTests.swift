import PushLoop
import Testing

@testable import PushSimulator

@Suite struct PhoneTests {
    static let suffixes: [(TokenKind, String)] = [
        (.alert, ""), (.voip, ".voip"), (.complication, ".complication"), (.fileprovider, ".pushkit.fileprovider"),
        (.location, ".location-query"), (.pushtotalk, ".voip-ptt"), (.widget, ".push-type.widgets"),
        (.control, ".push-type.controls"), (.pushToStart, ".push-type.liveactivity"),
        (.activity, ".push-type.liveactivity"),
    ]

    @Test("A token accepts only the topics of its kind", arguments: TokenKind.allCases)
    func topicsFitTheKind(_ kind: TokenKind) throws {
        let provider = try Provider()
        #expect(
            provider.control("PUT", "/devices/\(Provider.token)", "", "{kind: '\(kind.rawValue)'}").status == 200)
        for (other, suffix) in Self.suffixes {
            let reaction = provider.send([
                "apns-topic": "com.example.shop" + suffix, "apns-push-type": nil, "apns-priority": "5",
            ])
            let own = Self.suffixes.first { $0.0 == kind }?.1
            #expect(reaction.reason == (suffix == own ? .none : .deviceTokenNotForTopic), "\(other)")
        }
        // The header is judged before the token is.
        #expect(provider.send(["apns-push-type": "voip"]).reason == .badTopic)
        #expect(provider.send(["apns-topic": "com.example.shop.voip"]).reason == .invalidPushType)
    }

    @Test("Alert tokens take the push types without a suffix, and those of accessories")
    func alertTokensTakeSeveralTypes() throws {
        let provider = try Provider()
        let token = try #require(try provider.phone("{app: 'com.example.shop'}").first)
        let path = "/3/device/\(token)"
        for (type, suffix) in [("alert", ""), ("background", ""), ("accessory", ".push-type.accessory")] {
            let reaction = provider.send([
                ":path": path, "apns-push-type": type, "apns-topic": "com.example.shop" + suffix, "apns-priority": "5",
            ])
            #expect(reaction.reason == .none, "\(type)")
        }
        #expect(
            provider.send([":path": path, "apns-push-type": "mdm", "apns-topic": "com.apple.mgmt.1"]).reason
                == .deviceTokenNotForTopic, "the topic of another app")
    }

    @Test("A phone has a token of each kind that is asked for")
    func phonesHaveTokens() throws {
        let provider = try Provider()
        let body = """
            {app: 'com.example.shop', kinds: ['alert', 'voip', 'widget'], activity_types: ['Delivery', 'Ride'],
             environment: 'production', budget: 4}
            """
        let phone = try provider.tree("POST", "/phones", "", body)
        #expect(phone["phone"]?.integer == 1)
        #expect(phone["budget"]?.integer == 4)
        let tokens = try #require(phone["tokens"]?.elements)
        #expect(
            tokens.map { $0["kind"]?.string } == ["alert", "voip", "widget", "push_to_start", "push_to_start"])
        #expect(tokens.map { $0["activity_type"]?.string } == [nil, nil, nil, "Delivery", "Ride"])
        #expect(tokens.map { $0["token"]?.string?.count } == [64, 64, 64, 160, 160])
        #expect(Set(tokens.map { $0["token"]?.string }).count == 5)
        let device = try provider.tree("GET", "/devices/\(tokens[1]["token"]?.string ?? "")")
        #expect(device["kind"]?.string == "voip" && device["phone"]?.integer == 1)
        #expect(try provider.tree("GET", "/phones/1")["tokens"]?.elements?.count == 5)
        _ = try provider.phone()
        #expect(try provider.lines("/phones").map { $0["phone"]?.integer } == [1, 2])
        #expect(try provider.lines("/phones", "since=1").map { $0["phone"]?.integer } == [2])
        #expect(try provider.lines("/phones", "limit=1").map { $0["phone"]?.integer } == [1])
        let other = tokens[0]["token"]?.string ?? ""
        provider.reconnect(environment: .sandbox)
        #expect(provider.send([":path": "/3/device/\(other)"]).reason == .badDeviceToken)
    }

    @Test("A token that rotates is unregistered, and the new one has its kind")
    func tokensRotate() throws {
        let provider = try Provider()
        let old = try #require(try provider.phone("{app: 'com.example.shop', kinds: ['voip']}").first)
        let rotated = try provider.tree("POST", "/devices/\(old)/rotate", at: after(5))
        let new = try #require(rotated["token"]?.string)
        #expect(rotated["replaces"]?.string == old && rotated["kind"]?.string == "voip" && new != old)
        let voip: [String: String?] = ["apns-push-type": "voip", "apns-topic": "com.example.shop.voip"]
        let gone = provider.send(voip.merging([":path": "/3/device/\(old)"]) { $1 })
        #expect(gone.reason == .unregistered && gone.timestamp == after(5).milliseconds)
        #expect(provider.send(voip.merging([":path": "/3/device/\(new)"]) { $1 }).status == 200)
        #expect(provider.send([":path": "/3/device/\(new)"]).reason == .deviceTokenNotForTopic)
        #expect(try provider.tree("GET", "/phones/1")["tokens"]?.elements?.first?["token"]?.string == new)
        #expect(provider.control("POST", "/devices/\(old)/rotate").status == 409)
        // A token of no phone.
        #expect(provider.control("PUT", "/devices/\(Provider.token)", "", "{kind: 'widget'}").status == 200)
        #expect(try provider.tree("POST", "/devices/\(Provider.token)/rotate")["kind"]?.string == "widget")
        #expect(provider.send().reason == .deviceTokenNotForTopic)
    }

    @Test("The state of a phone's token can be set; the token keeps its kind")
    func tokensKeepTheirKind() throws {
        let provider = try Provider()
        let token = try #require(try provider.phone("{app: 'com.example.shop', kinds: ['voip']}").first)
        let gone = try provider.tree("PUT", "/devices/\(token)", "", "{state: 'unregistered'}")
        #expect(gone["kind"]?.string == "voip" && gone["phone"]?.integer == 1)
        #expect(gone["topics"]?.elements?.first?.string == "com.example.shop")
    }

    @Test("An app that is deleted takes its tokens and activities with it")
    func appsAreDeleted() throws {
        let provider = try Provider()
        let tokens = try provider.phone("{app: 'com.example.shop', activity_types: ['Delivery']}")
        provider.activity(tokens[1], aps: Provider.start())
        let update = try #require(try provider.lines("/activities").first?["token"]?.string)
        #expect(provider.control("DELETE", "/phones/1", at: after(1)).status == 200)
        #expect(provider.send([":path": "/3/device/\(tokens[0])"]).reason == .unregistered)
        #expect(provider.activity(update, aps: Provider.update(1)).reason == .expiredToken)
        let activity = try #require(try provider.lines("/activities").first)
        #expect(activity["state"]?.string == "dismissed" && activity["ended_by"]?.string == "system")
        #expect(provider.control("DELETE", "/phones/1").status == 404)
    }

    @Test(
        "Phones can be forgotten, with all of their tokens; numbers are not used again",
        arguments: ["/phones", "/devices"])
    func phonesAreForgotten(path: String) throws {
        let provider = try Provider()
        let token = try provider.startedActivity()
        #expect(provider.control("DELETE", path).status == 200)
        #expect(provider.machine.devices.count == 0)
        #expect(try provider.lines("/activities").isEmpty && provider.lines("/phones").isEmpty)
        #expect(provider.activity(token, aps: Provider.update(1)).status == 200, "an unknown token is accepted")
        #expect(try provider.tree("POST", "/phones", "", "{app: 'a'}")["phone"]?.integer == 2)
        let state = try provider.tree("GET", "/state")
        #expect(state["phones"]?.integer == 1 && state["activities"]?["known"]?.integer == 0)
    }

    static let wrong: [(String, String, String, String, UInt16, String)] = [
        ("POST", "/phones", "", "{}", 400, "bundle id"), ("POST", "/phones", "", "{app: ''}", 400, "bundle id"),
        ("POST", "/phones", "", "{app: 'a', kinds: ['pager']}", 400, "is not one of alert, voip"),
        ("POST", "/phones", "", "{app: 'a', kinds: 'alert'}", 400, "array of strings"),
        ("POST", "/phones", "", "{app: 'a', kinds: ['push_to_start']}", 400, "activity_types"),
        ("POST", "/phones", "", "{app: 'a', kinds: ['activity']}", 400, "when it starts"),
        ("POST", "/phones", "", "{app: 'a', activity_types: [7]}", 400, "array of strings"),
        ("POST", "/phones", "", "{app: 'a', budget: -1}", 400, "whole number"),
        ("POST", "/phones", "", "{app: 'a', budgt: 1}", 400, "did you mean \\\"budget\\\""),
        ("POST", "/phones", "", "{app: 'a', environment: 'moon'}", 400, "production, sandbox"),
        ("GET", "/phones/7", "", "", 404, "GET /phones"), ("GET", "/phones/x", "", "", 404, "GET /phones"),
        ("DELETE", "/phones/18446744073709551616", "", "", 404, "GET /phones"),
        ("PUT", "/phones", "", "{}", 405, "use GET, POST, DELETE"),
        ("GET", "/phones", "app=a", "", 400, "since, limit"),
        ("GET", "/activities/1", "", "", 404, "GET /activities"),
        ("POST", "/activities/1/dismiss", "", "", 404, "GET /activities"),
        ("GET", "/activities/1/dismiss", "", "", 405, "use POST"),
        ("GET", "/activities", "state=asleep", "", 400, "active, stale, ended, dismissed"),
        ("GET", "/activities", "phone=x", "", 400, "whole number"),
        ("POST", "/activities", "", "{phone: 1, type: 'T'}", 400, "number of a phone"),
        ("DELETE", "/activities", "", "", 405, "use GET, POST"),
        ("POST", "/devices/ab/rotate", "", "", 404, "GET /devices"),
        ("POST", "/devices/a*/rotate", "", "", 400, "name one token"),
        ("GET", "/devices/ab/rotate", "", "", 405, "use POST"),
        ("PUT", "/devices/ab", "", "{kind: 'pager'}", 400, "push_to_start, activity"),
    ]

    @Test("An invalid request is answered with the problem and advice", arguments: wrong)
    func saysHowToDoItRight(
        method: String, path: String, query: String, body: String, status: UInt16, part: String
    ) throws {
        let answer = try Provider().control(method, path, query, body)
        #expect(answer.status == status)
        #expect(answer.text.contains(part), "\(answer.text)")
        #expect(answer.text.contains("\"advice\":"))
    }

    @Test("A phone has a limited number of tokens")
    func phonesAreBounded() throws {
        let types = (0...SimulatedPhones.maxTokens).map { "'T\($0)'" }.joined(separator: ",")
        let answer = try Provider().control("POST", "/phones", "", "{app: 'a', activity_types: [\(types)]}")
        #expect(answer.status == 400 && answer.text.contains("at most 64"))
    }
}
