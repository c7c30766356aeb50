import PushLogic
import PushModel
import PushTime
import PushTransport
import TestSupport
import TestTraits
import Testing

@testable import PushAPI

/// Tests of the checks of single requests: signatures, digests, bearer secrets and times.
@Suite(.waits) struct RequestGuardTests {
    private static let example = """
        {"id":"order-4711","app":"shop","to":{"users":["ada"]},"alert":"On its way"}
        """

    /// The request of the contract, byte for byte.
    private static func exampleRequest() throws -> HTTP1Request {
        try HTTP1Request(
            method: .post, target: "/v1/messages",
            headers: [
                "Content-Digest": "sha-256=:DI40nLko7mF0ISNou547yPm5t36WMSRW8WvnnxXQ7FQ=:",
                "Signature-Input":
                    #"carillon=("@method" "@path" "@query" "content-digest");created=1795313619;keyid="k7f3qk2m";alg="hmac-sha256";nonce="b3k2pp5k7z50gnwp""#,
                "Signature": "carillon=:xqlJfRFmeD5YVCnmd/jUmi0LZ2Ae8O+ZHPvDvahO8lM=:",
            ], body: Array(example.utf8), peer: .address(host: "192.0.2.7", port: 1))
    }

    @Test func `The example of the contract is accepted, once`() async throws {
        try await withGuard { scene in
            _ = try await scene.addExample()
            scene.setClock(1_795_313_620_500)
            let request = try Self.exampleRequest()
            #expect(await scene.outcome(request) == "example")
            #expect(await scene.outcome(request) == "replayed replayed")
        }
    }

    @Test func `Each changed byte of the contract's example is refused`() async throws {
        var policy = AccessPolicy()
        policy.addressFailures = RateLimit(burst: 1_000_000, every: .seconds(1))
        policy.keyFailures = policy.addressFailures
        try await withGuard(policy: policy) { scene in
            _ = try await scene.addExample()
            scene.setClock(1_795_313_620_500)
            let request = try Self.exampleRequest()
            for name in ["Content-Digest", "Signature-Input", "Signature"] {
                let value = Array((request.headers[name] ?? "").utf8)
                for index in value.indices {
                    for change: UInt8 in [1, 2, 16] {
                        var changed = value
                        changed[index] ^= change
                        guard (0x20...0x7e).contains(changed[index]) else { continue }
                        let text = String(decoding: changed, as: UTF8.self)
                        let outcome = await scene.outcome(try request.with(name, text))
                        #expect(outcome.hasPrefix("unauthenticated"), "\(name): \(text): \(outcome)")
                    }
                }
                for length in 0..<value.count {
                    let text = String(decoding: value.prefix(length), as: UTF8.self)
                    let outcome = await scene.outcome(try request.with(name, text))
                    #expect(outcome.hasPrefix("unauthenticated"), "\(name): \(text): \(outcome)")
                }
            }
            for index in request.body.indices {
                var body = request.body
                body[index] ^= 1
                #expect(await scene.outcome(try request.with(body: body)) == "unauthenticated wrong_digest")
            }
            #expect(await scene.outcome(request) == "example")
        }
    }

    @Test func `A signature is valid for its method, path and query only`() async throws {
        try await withGuard { scene in
            let key = try await scene.add()
            var parts = SignedRequest()
            parts.target = "/v1/messages?limit=10&after=x%20y"
            let request = try parts.signed(by: key)
            for (method, target) in [
                (HTTP1Method.put, parts.target), (.post, "/v1/messages"), (.post, "/v1/messages?"),
                (.post, "/v1/messages?limit=10&after=x+y"), (.post, "/v1/Messages?limit=10&after=x%20y"),
                (.post, "/v1/messages/?limit=10&after=x%20y"), (.post, "/v1/messages?limit=10&after=x%20y&"),
            ] {
                let other = try request.with(method: method, target: target)
                #expect(await scene.outcome(other) == "unauthenticated wrong_signature", "\(method) \(target)")
            }
            #expect(await scene.outcome(request) == "orders")
        }
    }

    @Test(arguments: [
        ["@method", "@path", "@query", "content-digest"], ["content-digest", "@query", "@path", "@method"],
        ["@query", "content-digest", "@method", "@path"],
    ])
    func `The components may come in any order`(_ components: [String]) async throws {
        try await withGuard { scene in
            let key = try await scene.add()
            var parts = SignedRequest()
            parts.components = components
            #expect(await scene.outcome(try parts.signed(by: key)) == "orders")
        }
    }

    @Test(arguments: [
        ["@method", "@path", "content-digest"], ["@path", "@query", "content-digest"], [],
        ["@method", "@path", "@query", "content-digest", "content-type"], ["@method", "@path", "@query", "@query"],
        ["@method", "@path", "@query", "content-digest", "@authority"], ["@method", "@target-uri", "content-digest"],
        ["@METHOD", "@path", "@query", "content-digest"],
    ])
    func `Fewer, further, doubled and other components are refused`(_ components: [String]) async throws {
        try await withGuard { scene in
            let key = try await scene.add()
            var parts = SignedRequest()
            parts.components = components
            #expect(await scene.outcome(try parts.signed(by: key)) == "unauthenticated malformed")
        }
    }

    @Test func `A body needs its digest, and a request without a body must not have one`() async throws {
        try await withGuard { scene in
            let key = try await scene.add()
            var parts = SignedRequest()
            parts.components = ["@method", "@path", "@query"]
            #expect(await scene.outcome(try parts.signed(by: key)) == "unauthenticated digest_missing")
            // A digest that the signature does not cover protects nothing.
            parts.more = [("Content-Digest", parts.digestText())]
            #expect(await scene.outcome(try parts.signed(by: key)) == "unauthenticated digest_missing")
            parts = SignedRequest()
            parts.body = []
            parts.components = ["@method", "@path", "@query", "content-digest"]
            #expect(await scene.outcome(try parts.signed(by: key)) == "unauthenticated digest_without_body")
            parts.components = nil
            #expect(await scene.outcome(try parts.signed(by: key)) == "orders")
        }
    }

    @Test(arguments: [
        "", "sha-256", "sha-256=", "sha-256=::", "sha-512=:AAAA:",
        "sha-256=:DI40nLko7mF0ISNou547yPm5t36WMSRW8WvnnxXQ7FQ:",
        "sha-256=DI40nLko7mF0ISNou547yPm5t36WMSRW8WvnnxXQ7FQ=", "sha-256=:AAAA:, sha-256=:AAAA:", "SHA-256=:AAAA:",
    ])
    func `A digest that is not one SHA-256 digest is refused`(_ digest: String) async throws {
        try await withGuard { scene in
            let key = try await scene.add()
            var parts = SignedRequest()
            parts.digest = digest
            #expect(await scene.outcome(try parts.signed(by: key)) == "unauthenticated malformed")
        }
    }

    @Test func `Further digests are allowed beside SHA-256`() async throws {
        try await withGuard { scene in
            let key = try await scene.add()
            var parts = SignedRequest()
            parts.digest = "sha-512=:AAAA:, \(parts.digestText());x=1"
            #expect(await scene.outcome(try parts.signed(by: key)) == "orders")
            parts.digest = "sha-256=:\(Base64.encode(SHA256.hash("other").bytes)):"
            parts.nonce = "another-nonce-0001"
            #expect(await scene.outcome(try parts.signed(by: key)) == "unauthenticated wrong_digest")
        }
    }

    @Test func `Other labels are ignored, and a doubled label is refused`() async throws {
        try await withGuard { scene in
            let key = try await scene.add()
            var parts = SignedRequest()
            parts.more = [
                ("Signature-Input", #"proxy=("@authority" "x"; sf);created=1;alg=rsa;n=1.5;b=?0, other=("a")"#),
                ("Signature", "proxy=:AAAA:;x, other=:AAAA:"),
            ]
            #expect(await scene.outcome(try parts.signed(by: key)) == "orders")
            parts.nonce = "another-nonce-0001"
            let request = try parts.signed(by: key)
            parts.more = [("Signature-Input", request.headers["Signature-Input"] ?? "")]
            #expect(await scene.outcome(try parts.signed(by: key)) == "unauthenticated malformed")
            parts.more = [("Signature", request.headers["Signature"] ?? "")]
            #expect(await scene.outcome(try parts.signed(by: key)) == "unauthenticated malformed")
        }
    }

    @Test func `Unknown keys, other keys and other algorithms are refused`() async throws {
        try await withGuard { scene in
            let (key, other) = (try await scene.add(), try await scene.add("other"))
            var forged = key
            forged.secret = other.secret
            #expect(await scene.outcome(try SignedRequest().signed(by: forged)) == "unauthenticated wrong_signature")
            for id in ["zzzzzzzz", "", "k7f3qk2", "k7f3qk2mm", "K7F3QK2M"] {
                forged.id = id
                #expect(await scene.outcome(try SignedRequest().signed(by: forged)) == "unauthenticated unknown_key")
            }
            var parts = SignedRequest()
            parts.algorithm = "hmac-sha512"
            #expect(await scene.outcome(try parts.signed(by: key)) == "unauthenticated malformed")
            parts = SignedRequest()
            parts.furtherParameters = ";created=1"
            #expect(await scene.outcome(try parts.signed(by: key)) == "unauthenticated malformed")
            parts.furtherParameters = ";unknown=1"
            #expect(await scene.outcome(try parts.signed(by: key)) == "unauthenticated malformed")
            #expect(await scene.outcome(try SignedRequest().request([:])) == "unauthenticated no_credentials")
        }
    }

    @Test func `created may differ by the window, and expires is honored`() async throws {
        try await withGuard { scene in
            let key = try await scene.add()
            var parts = SignedRequest()
            scene.wait(.seconds(1000))
            let now = scene.now.wall.seconds
            for (number, (difference, outcome)) in [
                (-300, "orders"), (300, "orders"), (-301, "clock_skew clock_skew"), (301, "clock_skew clock_skew"),
                (-999_999_999_999_999 - now, "clock_skew clock_skew"),
                (999_999_999_999_999 - now, "clock_skew clock_skew"),
            ].enumerated() {
                parts.created = now + Int64(difference)
                parts.nonce = "nonce-number-00\(number)"
                #expect(await scene.outcome(try parts.signed(by: key)) == outcome, "\(difference)")
            }
            parts.created = now
            parts.furtherParameters = ";expires=\(now);tag=\"x\""
            #expect(await scene.outcome(try parts.signed(by: key)) == "unauthenticated signature_expired")
            parts.furtherParameters = ";tag=\"x\";expires=\(now + 1)"
            #expect(await scene.outcome(try parts.signed(by: key)) == "orders")
            guard case .failure(let refusal) = await scene.check(try Self.skewed(parts).signed(by: key)) else {
                Issue.record("a signature of another year is accepted")
                return
            }
            #expect(refusal.serverTime == UnixSeconds(now) && refusal.status == 401)
        }
    }

    private static func skewed(_ parts: SignedRequest) -> SignedRequest {
        var parts = parts
        (parts.created, parts.furtherParameters) = (0, "")
        return parts
    }

    @Test func `A bearer secret works for its keys only, and only over TLS or from this machine`() async throws {
        for isTLS in [false, true] {
            try await withGuard(isTLS: isTLS) { scene in
                let bearer = try await scene.add("prometheus", roles: [.observe]) { $0.allowsBearer = true }
                let signing = try await scene.add()
                var parts = SignedRequest()
                parts.body = []
                #expect(
                    await scene.outcome(try parts.bearing(bearer.bearer))
                        == (isTLS ? "prometheus" : "unauthenticated bearer_without_tls"))
                for host in ["127.0.0.1", "::1", "::ffff:127.8.9.1"] {
                    parts.host = host
                    #expect(await scene.outcome(try parts.bearing(bearer.bearer)) == "prometheus")
                    #expect(
                        await scene.outcome(try parts.bearing(signing.bearer)) == "unauthenticated bearer_not_allowed")
                }
                // The scheme is not case-sensitive.
                #expect(await scene.outcome(try parts.bearing("bEARER" + bearer.bearer.dropFirst(6))) == "prometheus")
                // A bearer key can also sign.
                #expect(await scene.outcome(try parts.signed(by: bearer)) == "prometheus")
                parts.nonce = "another-nonce-0001"
                parts.more = [("Authorization", bearer.bearer)]
                #expect(await scene.outcome(try parts.signed(by: bearer)) == "unauthenticated two_credentials")
                // Another scheme is not a second credential.
                parts.more = [("Authorization", "Basic eDp5")]
                #expect(await scene.outcome(try parts.signed(by: bearer)) == "prometheus")
            }
        }
    }

    @Test func `A changed bearer secret is refused`() async throws {
        var policy = AccessPolicy()
        policy.addressFailures = RateLimit(burst: 1_000_000, every: .seconds(1))
        policy.keyFailures = policy.addressFailures
        try await withGuard(isTLS: true, policy: policy) { scene in
            let key = try await scene.add { $0.allowsBearer = true }
            let text = Array(key.bearer.utf8)
            for index in 7..<text.count {
                for byte in [text[index] ^ 1, text[index] ^ 2, UInt8(ascii: "="), UInt8(ascii: " ")] {
                    var changed = text
                    changed[index] = byte
                    let value = String(decoding: changed, as: UTF8.self)
                    let outcome = await scene.outcome(try SignedRequest().bearing(value))
                    #expect(outcome.hasPrefix("unauthenticated"), "\(value): \(outcome)")
                }
            }
            for value in ["Bearer", "Bearer ", "Bearer .", "Bearer \(key.id).", "Bearer \(key.id)", key.bearer + "A"] {
                #expect(await scene.outcome(try SignedRequest().bearing(value)).hasPrefix("unauthenticated"))
            }
            var doubled: HTTP1Headers = ["Authorization": key.bearer]
            doubled.add("authorization", value: key.bearer)
            #expect(await scene.outcome(try SignedRequest().request(doubled)) == "unauthenticated malformed")
            #expect(await scene.outcome(try SignedRequest().bearing(key.bearer)) == "orders")
        }
    }

    @Test func `Requests of the control socket need no key`() async throws {
        try await withGuard { scene in
            let request = try HTTP1Request(method: .get, target: "/v1/keys", headers: [:], body: [], peer: .local)
            guard case .success(let caller) = await scene.check(request) else {
                Issue.record("the control socket is refused")
                return
            }
            #expect(caller == .local && Role.allCases.allSatisfy { caller.allows($0) })
        }
    }
}
