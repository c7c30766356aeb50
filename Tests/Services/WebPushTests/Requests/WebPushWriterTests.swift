import PushGateways
import PushLoop
import PushModel
import PushTime
import TestSupport
import Testing

@testable import PushTransport
@testable import WebPush

/// The requests to one origin.
@Suite struct WebPushWriterTests {
    private let clock = Locked(WallTime(seconds: 1_800_000_000))
    private let app = AppID("web")!

    private func tokens() throws -> VAPIDTokens {
        VAPIDTokens(
            key: VAPIDKey(try ES256PrivateKey.generate()), subject: "mailto:a@example.com",
            wallClock: { [clock] in clock.withLock { $0 } })
    }

    private func writer(_ host: String = "push.example.com") throws -> WebPushWriter {
        WebPushWriter(
            origin: Origin(host: host), tokens: try tokens(), wallClock: { [clock] in clock.withLock { $0 } })
    }

    private func delivery(
        _ id: String = "one", endpoint: String = "https://push.example.com/p/1?a=b", expiry: Expiry = .unlimited,
        collapse: String? = nil, payload: String = #"{"a":1}"#, secret: String = SubscriptionTests.secret
    ) throws -> Delivery {
        let address = try WebPushCodec().address(SubscriptionTests.subscription(endpoint, auth: secret))
        let message = Message(
            id: try #require(MessageID(id)), app: app, expiry: expiry,
            collapseID: collapse.flatMap { CollapseID($0) }, payload: Array(payload.utf8))
        return Delivery(
            ticket: 1, message: message, token: address,
            deliveryID: .derived(app: app, message: message.id, token: address))
    }

    private struct Written {
        let values: [String]
        let body: [UInt8]
        let fields: HTTP2PreparedRequest
    }

    private func write(_ delivery: Delivery, by writer: WebPushWriter) -> Written {
        let request = writer.request(for: delivery)
        let values = unsafe request.values.map { unsafe String(decoding: $0, as: UTF8.self) }
        return Written(values: values, body: request.body, fields: request.fields)
    }

    @Test("A request has the path of the endpoint, the time that is left and a topic")
    func values() throws {
        let writer = try writer()
        let first = write(try delivery(), by: writer)
        #expect(first.fields.perRequestCount == 3)
        #expect(first.values[0] == "/p/1?a=b" && first.values[1] == "2419200")
        #expect(first.body.count == 128 + 103)
        let now: Int64 = 1_800_000_000
        let times: [(Expiry, String)] = [
            (.singleAttempt, "0"), (.at(UnixSeconds(now + 60)), "60"), (.at(UnixSeconds(now - 60)), "0"),
            (.at(UnixSeconds(now + 90 * 86_400)), "2592000"), (.at(UnixSeconds(.max)), "2592000"),
            (.at(UnixSeconds(.min)), "0"),
        ]
        for (expiry, text) in times {
            #expect(try write(delivery(expiry: expiry), by: writer).values[1] == text)
        }
        for (endpoint, path) in [
            ("https://push.example.com", "/"), ("https://push.example.com?x", "/?x"),
            ("https://push.example.com/", "/"),
        ] {
            #expect(try write(delivery(endpoint: endpoint), by: writer).values[0] == path)
        }
        let long = "https://push.example.com/" + String(repeating: "y", count: EndpointText.maxLength - 25)
        #expect(try write(delivery(endpoint: long), by: writer).values[0].utf8.count == EndpointText.maxLength - 24)
    }

    @Test("A topic is the digest of the collapse id, or else of the message id, with the secret of the subscription")
    func topics() throws {
        let writer = try writer()
        let topic = { (delivery: Delivery) in write(delivery, by: writer).values[2] }
        let one = topic(try delivery("one"))
        let mac = HMACSHA256.authenticate(
            Array("order".utf8), key: try #require(Base64URL.decode(SubscriptionTests.secret)))
        #expect(try topic(delivery("one", collapse: "order")) == Base64URL.encode(Array(mac.bytes.prefix(24))))
        #expect(one.utf8.count == 32 && Base64URL.decode(one)?.count == 24)
        #expect(try topic(delivery("one")) == one && topic(delivery("two")) != one)
        #expect(try topic(delivery("two", collapse: "one")) != one)
        #expect(try topic(delivery("one", collapse: "x")) == topic(delivery("two", collapse: "x")))
        #expect(try topic(delivery("one", secret: "AAAAAAAAAAAAAAAAAAAAAA")) != one)
    }

    @Test("A repetition is encrypted again, with a key pair of its own and the same length")
    func repetition() throws {
        let writer = try writer()
        let delivery = try delivery(payload: String(repeating: "x", count: 300))
        let (first, second) = (write(delivery, by: writer).body, write(delivery, by: writer).body)
        #expect(first.count == 384 + 103 && second.count == first.count)
        #expect(first[21..<86] != second[21..<86] && first[..<16] != second[..<16])
    }

    @Test("The fields are those of RFC 8030, and Windows gets its own one about storage")
    func fields() throws {
        let text = { (host: String, isStored: Bool) throws -> [String: String] in
            var shapes = WebPushShapes(origin: Origin(host: host, port: 8443), tokens: try tokens())
            let kind = WebPushShapes.Kind(.five, isStored: isStored)
            _ = shapes.request(kind, at: WallTime(seconds: 1_800_000_000))
            return Dictionary(
                uniqueKeysWithValues: shapes.fields(kind).map { field in
                    switch field.value {
                    case .fixed(let text): (field.name, text)
                    case .perRequest: (field.name, "")
                    }
                })
        }
        let usual = try text("push.example.com", true)
        #expect(
            usual.keys.sorted() == [
                ":authority", ":method", ":path", ":scheme", "authorization", "content-encoding", "content-type",
                "topic", "ttl", "urgency",
            ])
        #expect(usual[":authority"] == "push.example.com:8443" && usual[":method"] == "POST")
        #expect(usual["content-encoding"] == "aes128gcm" && usual["urgency"] == "normal")
        #expect(usual["authorization"]?.hasPrefix("vapid t=") == true)
        #expect(try text("wns2-par02p.notify.windows.com", true)["x-wns-cache-policy"] == "cache")
        #expect(try text("wns2-par02p.notify.windows.com", false)["x-wns-cache-policy"] == "no-cache")
        #expect(try text("notify.windows.com.example.com", false)["x-wns-cache-policy"] == nil)
    }

    @Test("Header blocks are prepared once for each urgency and storage, and again for another token")
    func preparation() throws {
        let writer = try writer()
        let first = write(try delivery("one"), by: writer).fields
        #expect(try write(delivery("two"), by: writer).fields === first)
        #expect(try write(delivery("two", expiry: .singleAttempt), by: writer).fields !== first)
        clock.withLock { $0 = $0 + .seconds(7 * 3600) }
        #expect(try write(delivery("three"), by: writer).fields !== first)
    }

    @Test("Bytes that are no subscription give a request without a body, and no byte that splits a field")
    func damage() throws {
        let writer = try writer()
        let message = Message(id: try #require(MessageID("one")), app: app, payload: Array("{}".utf8))
        for bytes in [[1, 2, 3], Array("https://a/\r\nx: y".utf8), [UInt8](repeating: 10, count: 2048)] {
            let address = try #require(Address(bytes: bytes))
            let written = write(
                Delivery(
                    ticket: 1, message: message, token: address,
                    deliveryID: .derived(app: app, message: message.id, token: address)), by: writer)
            #expect(written.body.isEmpty && written.values[0].utf8.first == UInt8(ascii: "/"))
            #expect(written.values[0].utf8.allSatisfy { (0x21...0x7e).contains($0) })
        }
        let bad = try #require(
            Address(bytes: Array("https://a.example/x".utf8) + [UInt8](repeating: 4, count: 81), identifiedByFirst: 19))
        let written = write(
            Delivery(
                ticket: 1, message: message, token: bad,
                deliveryID: .derived(app: app, message: message.id, token: bad)), by: writer)
        #expect(written.body.isEmpty && written.values[0] == "/x")
    }

    @Test("A subscription is sent with the key with which it was made, and without a statement with the key before")
    func keys() throws {
        let (key, former) = (VAPIDKey(try ES256PrivateKey.generate()), VAPIDKey(try ES256PrivateKey.generate()))
        let tokens = { (key: VAPIDKey) in
            VAPIDTokens(
                key: key, subject: "mailto:a@example.com", wallClock: { [clock] in clock.withLock { $0 } })
        }
        let origin = Origin(host: "push.example.com")
        let one = WebPushWriter(origin: origin, tokens: tokens(key), wallClock: { [clock] in clock.withLock { $0 } })
        let two = WebPushWriter(
            origin: origin, tokens: tokens(key), former: tokens(former),
            wallClock: { [clock] in clock.withLock { $0 } })
        let bare = SubscriptionTests.subscription("https://push.example.com/p/1", auth: SubscriptionTests.secret)
        for (writer, stated, used) in [
            (one, nil, key), (one, key, key), (two, nil, former), (two, key, key), (two, former, former),
        ] as [(WebPushWriter, VAPIDKey?, VAPIDKey)] {
            let member = stated.map { #","applicationServerKey":"\#($0.publicKey)"}"# } ?? "}"
            let address = try WebPushCodec().address(bare.dropLast() + member)
            // What is exported has the id of the key alone.
            let again = try WebPushCodec().address(WebPushCodec().text(of: address))
            #expect(again == address && again.identity == address.identity)
            let message = Message(
                id: try #require(MessageID("one")), app: app, expiry: .unlimited, payload: Array("{}".utf8))
            let delivery = Delivery(
                ticket: 1, message: message, token: again,
                deliveryID: .derived(app: app, message: message.id, token: again))
            let call = try #require(writer.call(for: delivery))
            let field = try #require(call.fields.first { $0.name == "authorization" }?.value)
            #expect(field.hasSuffix(", k=\(used.publicKey)"))
            #expect(call.body.count == 128 + 103 && call.address.target == "/p/1")
        }
    }
}
