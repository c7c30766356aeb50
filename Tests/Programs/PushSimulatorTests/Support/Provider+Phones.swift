import JSON5
import PushLoop
import Testing

@testable import PushSimulator

extension Provider {
    static let activityTopic = "com.example.shop.push-type.liveactivity"

    /// The answer of the control port, which must be 200, as JSON.
    func tree(
        _ method: String, _ path: String, _ query: String = "", _ body: String = "", at now: WallTime = noon
    ) throws -> JSONTree {
        let answer = control(method, path, query, body, at: now)
        #expect(answer.status == 200, "\(answer.text)")
        return try #require(ByteView.lending(Array(answer.text.utf8)) { JSONTree.strict($0) }, "\(answer.text)")
    }

    func lines(_ path: String, _ query: String = "", at now: WallTime = noon) throws -> [JSONTree] {
        let answer = control("GET", path, query, at: now)
        #expect(answer.status == 200, "\(answer.text)")
        return try answer.text.split(separator: "\n").map { line in
            try #require(ByteView.lending(Array(line.utf8)) { JSONTree.strict($0) }, "\(line)")
        }
    }

    static let phone = "{app: 'com.example.shop', kinds: [], activity_types: ['Delivery']}"

    /// Makes a phone and returns its tokens, in the order of the request.
    func phone(_ body: String = Provider.phone) throws -> [String] {
        let tokens = try tree("POST", "/phones", "", body)["tokens"]?.elements ?? []
        return tokens.compactMap { $0["token"]?.string }
    }

    /// Sends a notification for Live Activities.
    @discardableResult
    func activity(
        _ token: String, aps: String, priority: String? = "10", at now: WallTime = noon
    ) -> Reaction {
        // A provider token is valid for an hour, and may be changed every twenty minutes.
        let issued = after((now.seconds - noon.seconds) / 3000 * 3000)
        let headers = [
            ":path": "/3/device/\(token)", "apns-topic": Self.activityTopic, "apns-push-type": "liveactivity",
            "apns-priority": priority, "apns-expiration": nil, "authorization": "bearer \(Self.jwt(at: issued))",
        ]
        return send(headers, "{\"aps\":{\(aps)}}", at: now)
    }

    static func start(_ name: String = "order-1", timestamp: Int64 = noon.seconds, more: String = "") -> String {
        #""event":"start","timestamp":\#(timestamp),"content-state":{"step":0},"attributes-type":"Delivery","#
            + #""attributes":{"name":"\#(name)","n":7},"alert":{"title":"a","body":"b"}\#(more)"#
    }

    static func update(_ step: Int, timestamp: Int64 = noon.seconds, more: String = "") -> String {
        #""event":"update","timestamp":\#(timestamp),"content-state":{"step":\#(step)}\#(more)"#
    }

    static func end(timestamp: Int64 = noon.seconds, more: String = "") -> String {
        #""event":"end","timestamp":\#(timestamp)\#(more)"#
    }

    /// Starts an activity on a new phone, and returns its token.
    func startedActivity() throws -> String {
        let start = try #require(try phone().first)
        #expect(activity(start, aps: Self.start()).status == 200)
        return try #require(try lines("/activities").last?["token"]?.string)
    }
}
