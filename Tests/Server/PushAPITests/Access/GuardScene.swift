import PushLogic
import PushLoop
import PushModel
import PushStore
import PushTime
import PushTransport
import TestSupport
import Testing

@testable import PushAPI

/// API keys in a directory of their own, and a guard on its own loop. The clocks stand still unless a test sets them.
final class GuardScene: Sendable {
    let directory: TemporaryDirectory
    let loop: EventLoop
    let book: RegistryKeys
    let registrar: KeyRegistrar
    let door: LoopBound<RequestGuard>
    let ended = Locked<[APIKeyID]>([])
    private let clock: Locked<AccessTime>

    static let start: WallTime = 1_795_313_600_000
    /// The key and the secret of the example in the contract.
    static let exampleID = APIKeyID("k7f3qk2m")!
    static let exampleSecret = Array(UInt8(0)...31)

    var now: AccessTime { clock.withLock { $0 } }

    init(
        isTLS: Bool = false, policy: AccessPolicy = AccessPolicy(), at path: TemporaryDirectory? = nil,
        startedAt: WallTime = start
    ) async throws {
        let directory = try path ?? TemporaryDirectory()
        self.directory = directory
        let clock = Locked(AccessTime(wall: startedAt, monotonic: MonotonicTime(nanoseconds: 0)))
        self.clock = clock
        book = try await RegistryKeys.open(directory: directory.path)
        registrar = await KeyRegistrar.open(book, directory: directory.path) { clock.withLock { $0.wall } }
        loop = EventLoop(name: "guard-test", clock: .manual())
        var settings = RequestGuard.Settings(isTLS: isTLS)
        settings.policy = policy
        door = await RequestGuard.open(registrar, on: loop, settings: settings, startedAt: startedAt)
        let ended = ended
        await door.with { door in door.whenEnded = { ids in ended.withLock { $0 += ids } } }
    }

    func close() async {
        await door.with { $0.stop() }
        await loop.shutDown()
        await book.close()
    }

    /// Moves both clocks.
    func wait(_ time: Duration) {
        clock.withLock { $0 = AccessTime(wall: $0.wall + time, monotonic: $0.monotonic + time) }
    }

    /// Sets the wall clock alone, as an operator or a time service does.
    func setClock(_ wall: WallTime) {
        clock.withLock { $0 = AccessTime(wall: wall, monotonic: $0.monotonic) }
    }

    func check(_ request: HTTP1Request) async -> Result<Caller, AccessRefusal> {
        let now = now
        return await door.with { $0.check(request, now: now) }
    }

    /// Returns the code and reason of the refusal, or the name of the caller.
    func outcome(_ request: HTTP1Request) async -> String {
        switch await check(request) {
        case .success(let caller): caller.name
        case .failure(let refusal): "\(refusal.code.rawValue) \(refusal.reason.rawValue)"
        }
    }

    func add(
        _ name: String = "orders", roles: [Role] = [.push], _ change: (inout KeyDraft) -> Void = { _ in }
    ) async throws -> Credentials {
        var draft = KeyDraft(name: try #require(APIKeyName(name)), roles: RoleSet(roles))
        change(&draft)
        return try Credentials(try await registrar.add(draft))
    }

    /// Stores the key of the contract's example.
    func addExample() async throws -> Credentials {
        let sealing = try SealingKeyFile.create("\(directory.path)/\(KeyRegistrar.sealingFileName)")
        let key = APIKey(
            id: Self.exampleID, name: try #require(APIKeyName("example")), roles: RoleSet([.push]), createdAt: now.wall)
        try await book.add(
            StoredKey(
                key, bearerDigest: [],
                sealedSecret: sealing.seal(Self.exampleSecret, for: KeyRegistrar.context(of: key.id))), at: now.wall)
        // The registrar has not read the new file yet; adding any key makes it do so.
        _ = try await add("other")
        return Credentials(id: key.id.description, secret: Self.exampleSecret)
    }
}

/// Runs a test with a scene.
func withGuard(
    isTLS: Bool = false, policy: AccessPolicy = AccessPolicy(), _ body: (GuardScene) async throws -> Void
) async throws {
    let scene = try await GuardScene(isTLS: isTLS, policy: policy)
    do {
        try await body(scene)
    } catch {
        Issue.record(error)
    }
    await scene.close()
}

/// A key id and its secret, as a client has them.
struct Credentials: Sendable {
    var id: String
    var secret: [UInt8]

    init(id: String, secret: [UInt8]) {
        self.id = id
        self.secret = secret
    }

    init(_ made: KeyRegistrar.Made) throws {
        id = made.key.id.description
        secret = try #require(Base64URL.decode(made.secret.withRevealed { $0 }))
    }

    var bearer: String { "Bearer \(id).\(Base64URL.encode(secret))" }
}

/// The parts of a signed request, each of which a test can change.
struct SignedRequest {
    var method = HTTP1Method.post
    var target = "/v1/messages"
    var body = Array(#"{"id":"order-4711"}"#.utf8)
    var host = "192.0.2.7"
    var created = GuardScene.start.seconds
    var nonce = "b3k2pp5k7z50gnwp"
    var algorithm = "hmac-sha256"
    var components: [String]?
    /// The header fields that the request also has.
    var more: [(String, String)] = []
    /// Parameters at the end, such as `;tag="x"`.
    var furtherParameters = ""
    var digest: String?

    func digestText() -> String { digest ?? "sha-256=:\(Base64.encode(SHA256.hash(body).bytes)):" }

    /// Signs the request as RFC 9421 says, without the code under test.
    func signed(by key: Credentials) throws -> HTTP1Request {
        let names = components ?? ["@method", "@path", "@query"] + (body.isEmpty ? [] : ["content-digest"])
        let parts = target.split(separator: "?", maxSplits: 1, omittingEmptySubsequences: false)
        var base = ""
        for name in names {
            let value =
                switch name {
                case "@method": method.rawValue
                case "@path": String(parts[0])
                case "@query": "?" + (parts.count == 2 ? String(parts[1]) : "")
                case "content-digest": digestText()
                default: "x"
                }
            base += "\"\(name)\": \(value)\n"
        }
        let parameters =
            "(\(names.map { "\"\($0)\"" }.joined(separator: " ")));created=\(created);keyid=\"\(key.id)\""
            + ";alg=\"\(algorithm)\";nonce=\"\(nonce)\"\(furtherParameters)"
        base += "\"@signature-params\": \(parameters)"
        let signature = HMACSHA256.authenticate(Array(base.utf8), key: key.secret)
        var headers: HTTP1Headers = ["Host": "localhost", "Content-Type": "application/json"]
        if names.contains("content-digest") { headers.add("Content-Digest", value: digestText()) }
        headers.add("Signature-Input", value: "carillon=\(parameters)")
        headers.add("Signature", value: "carillon=:\(Base64.encode(signature.bytes)):")
        for (name, value) in more { headers.add(name, value: value) }
        return try request(headers)
    }

    func bearing(_ authorization: String) throws -> HTTP1Request {
        try request(["Authorization": authorization])
    }

    func request(_ headers: HTTP1Headers) throws -> HTTP1Request {
        try HTTP1Request(
            method: method, target: target, headers: headers, body: body, peer: .address(host: host, port: 40000))
    }
}

/// The standard Base64 encoding with padding, which production code never writes.
enum Base64 {
    static func encode(_ bytes: [UInt8]) -> String {
        let text = Base64URL.encode(bytes).map { $0 == "-" ? "+" : $0 == "_" ? "/" : $0 }
        return String(text) + String(repeating: "=", count: (4 - text.count % 4) % 4)
    }
}

extension HTTP1Request {
    /// Returns the request with another value for a header field, or without the field.
    func with(_ name: String, _ value: String?) throws -> HTTP1Request {
        var headers = HTTP1Headers()
        for field in self.headers.fields where field.name != name { headers.add(field.name, value: field.value) }
        if let value { headers.add(name, value: value) }
        return try HTTP1Request(method: method, target: target, headers: headers, body: body, peer: peer)
    }

    func with(body: [UInt8]) throws -> HTTP1Request {
        try HTTP1Request(method: method, target: target, headers: headers, body: body, peer: peer)
    }

    func with(method: HTTP1Method, target: String) throws -> HTTP1Request {
        try HTTP1Request(method: method, target: target, headers: headers, body: body, peer: peer)
    }
}
