import JSON5
import PushLoop
import PushTransport
import TestSupport
import Testing

@testable import PushSimulator

/// An application server with a key of its own, which encrypts and signs without any code of the simulator.
struct Sender {
    static let origin = "https://127.0.0.1:2444"

    let key: ES256PrivateKey
    /// The public key as an uncompressed point.
    let point: [UInt8]

    init() throws {
        key = try .generate()
        // The encoded key ends with the point.
        let base64 = key.publicKey.pem.split(separator: "\n").dropFirst().dropLast().joined()
        let encoded = try #require(ByteView.lending(Array(base64.utf8)) { Base64.decode($0) })
        point = Array(encoded.suffix(65))
    }

    var publicText: String { Self.text(point) }

    static func text(_ bytes: [UInt8]) -> String { String(decoding: Base64.encodeURL(bytes), as: UTF8.self) }

    static func bytes(_ text: String) throws -> [UInt8] {
        try #require(ByteView.lending(Array(text.utf8)) { Base64.decodeURL($0) }, "\(text)")
    }

    /// A subscription as a browser gives it to its application server.
    struct Subscription {
        let endpoint: String
        let point: [UInt8]
        let secret: [UInt8]

        init(_ line: some StringProtocol) throws {
            let tree = try #require(ByteView.lending(Array(line.utf8)) { JSONTree.strict($0) }, "\(line)")
            #expect(tree.members?.map(\.key) == ["endpoint", "expirationTime", "keys"])
            #expect(tree["expirationTime"] == JSONTree(.null))
            endpoint = try #require(tree["endpoint"]?.string)
            point = try Sender.bytes(try #require(tree["keys"]?["p256dh"]?.string))
            secret = try Sender.bytes(try #require(tree["keys"]?["auth"]?.string))
        }

        var path: String { "/" + endpoint.split(separator: "/").dropFirst(2).joined(separator: "/") }
        var id: String { String(endpoint.split(separator: "/").last ?? "") }
    }

    /// The claims of a token, as JSON.
    static func claims(
        origin: String = origin, expiresAt: Int64 = noon.seconds + 43_200, subject: String = "mailto:ops@example.com"
    ) -> String {
        #"{"aud":"\#(origin)","exp":\#(expiresAt),"sub":"\#(subject)"}"#
    }

    func token(claims: String = claims(), header: String = #"{"typ":"JWT","alg":"ES256"}"#) throws -> String {
        let input = [header, claims].map { Self.text(Array($0.utf8)) }.joined(separator: ".")
        return try input + "." + Self.text(key.sign(Array(input.utf8)))
    }

    func authorization(claims: String = claims()) throws -> String {
        try "vapid t=\(token(claims: claims)), k=\(publicText)"
    }

    /// What a hostile sender changes in a message.
    struct Change {
        /// The bytes after the text.
        var padding: [UInt8] = [2, 0, 0, 0]
        var recordSize: UInt32 = 4096
        /// Replaces the public key in the header.
        var keyID: [UInt8]?
    }

    /// Encrypts a text as RFC 8291 has it.
    static func encrypt(
        _ text: [UInt8], for point: [UInt8], secret: [UInt8], change: Change = Change()
    ) throws -> [UInt8] {
        let own = try AgreementKey.generate()
        let salt = SecureRandom.bytes(16)
        let shared = try #require(own.agree(with: point))
        let info = Array("WebPush: info\0".utf8) + point + own.publicPoint + [1]
        let input = mac(info, mac(shared, secret))
        let extracted = mac(input, salt)
        let contentKey = mac(Array("Content-Encoding: aes128gcm\0\u{1}".utf8), extracted).prefix(16)
        let nonce = mac(Array("Content-Encoding: nonce\0\u{1}".utf8), extracted).prefix(12)
        let record = AESGCM.seal(text + change.padding, key: Array(contentKey), nonce: Array(nonce))
        let size = [24, 16, 8, 0].map { UInt8(truncatingIfNeeded: change.recordSize >> UInt32($0)) }
        let keyID = change.keyID ?? own.publicPoint
        return salt + size + [UInt8(keyID.count)] + keyID + record
    }

    private static func mac(_ message: [UInt8], _ key: [UInt8]) -> [UInt8] {
        HMACSHA256.authenticate(message, key: key).bytes
    }

    /// A request that the service takes.
    func request(_ text: String, to subscription: Subscription, topic: String? = nil) throws -> WebPushRequest {
        var request = WebPushRequest()
        request.method = "POST"
        request.path = subscription.path
        request.authorization = try authorization()
        request.ttl = "60"
        request.topic = topic
        request.encoding = "aes128gcm"
        request.body = try Self.encrypt(Array(text.utf8), for: subscription.point, secret: subscription.secret)
        request.bodyCount = request.body.count
        return request
    }
}

/// A simulated push service without sockets, with one connection and an application server.
final class PushService {
    var machine = WebPushMachine()
    var connection: WebPushConnection
    let sender: Sender
    private var stream: Int32 = 1

    init(faults: String = "{}") throws {
        sender = try Sender()
        machine.origin = Sender.origin
        let answer = machine.control(ControlRequest(method: "PUT", path: "/webpush/faults", body: Array(faults.utf8)))
        #expect(answer.status == 200, "\(String(decoding: answer.body, as: UTF8.self))")
        connection = machine.arrive()
    }

    func reconnect() {
        connection = machine.arrive()
        stream = 1
    }

    func control(
        _ method: String, _ path: String, _ query: String = "", _ body: String = ""
    ) -> (status: UInt16, text: String) {
        let response = machine.control(
            ControlRequest(method: method, path: path, query: query, body: Array(body.utf8)))
        return (response.status, String(decoding: response.body, as: UTF8.self))
    }

    func lines(_ path: String, _ query: String = "") throws -> [JSONTree] {
        try control("GET", path, query).text.split(separator: "\n").map { line in
            try #require(ByteView.lending(Array(line.utf8)) { JSONTree.strict($0) }, "\(line)")
        }
    }

    func subscribe(_ query: String = "") throws -> Sender.Subscription {
        let answer = control("POST", "/subscriptions", query)
        #expect(answer.status == 200, "\(answer.text)")
        return try Sender.Subscription(answer.text)
    }

    func send(_ request: WebPushRequest, at now: WallTime = noon) -> WebPushReaction {
        defer { stream += 2 }
        return machine.receive(request, stream: stream, on: &connection, now: now)
    }

    /// Sends a text that nothing is wrong with, but for the change.
    @discardableResult
    func send(
        _ text: String = "hello", to subscription: Sender.Subscription, topic: String? = nil, at now: WallTime = noon,
        change: (inout WebPushRequest) throws -> Void = { _ in }
    ) throws -> WebPushReaction {
        var request = try sender.request(text, to: subscription, topic: topic)
        try change(&request)
        return send(request, at: now)
    }
}

extension WebPushReaction {
    func field(_ name: String) -> String? { fields.first { $0.0.description == name }?.1 }

    /// The answer of a refusal.
    var error: JSONTree? { ByteView.lending(body) { JSONTree.strict($0) } }
}
