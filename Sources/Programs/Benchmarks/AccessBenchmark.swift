import Foundation
import PushAPI
import PushLogic
import PushLoop
import PushModel
import PushStore
import PushTime
import PushTransport

enum AccessBenchmark {
    /// Measures the checks of requests by their guard: signatures with and without a body, and bearer secrets.
    static func run(_ arguments: [String]) async throws -> [Figure] {
        let times = arguments.first.flatMap(Int.init) ?? 200_000
        let directory = FileManager.default.temporaryDirectory.appending(path: "carillon-access-\(getpid())").path
        try FileManager.default.createDirectory(
            atPath: directory, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
        defer { try? FileManager.default.removeItem(atPath: directory) }
        let book = try await RegistryKeys.open(directory: directory)
        let registrar = await KeyRegistrar.open(book, directory: directory)
        guard let name = APIKeyName("bench") else { throw Refused(reason: "name") }
        var draft = KeyDraft(name: name, roles: RoleSet([.push]))
        draft.allowsBearer = true
        let made = try await registrar.add(draft)
        let (id, text) = (made.key.id, made.secret.withRevealed { $0 })
        let secret = Base64URL.decode(text) ?? []
        let loop = EventLoop(name: "access-bench")
        let door = await RequestGuard.open(registrar, on: loop, settings: RequestGuard.Settings(isTLS: true))
        let now = WallTime.current()
        let body = Array(#"{"id":"order-4711","app":"shop","to":{"users":["ada"]},"alert":"On its way"}"#.utf8)

        // The requests are made in advance, so that only their checks are measured.
        let bearing = try request(body: body, [("Authorization", "Bearer \(id).\(text)")])
        let bare = try request(body: [], [])
        var figures = [
            try await measured("a bearer secret", door, times: times, at: now) { _ in bearing },
            try await measured("no credentials", door, times: times, at: now, isAllowed: false) { _ in bare },
        ]
        for (title, body, key) in [
            ("a signature, with its body", body, secret), ("a signature, without a body", [], secret),
            ("a wrong signature", body, [UInt8](repeating: 1, count: 32)),
        ] {
            let requests = try (0..<times).map { try signed(id, key, body: body, number: $0, created: now.seconds) }
            figures.append(
                try await measured(title, door, times: times, at: now, isAllowed: key == secret) { requests[$0] })
        }
        await door.with { $0.stop() }
        await loop.shutDown()
        await book.close()
        let cost = figures[2].value - figures[0].value
        return figures + [Figure(name: "a signature over a bearer secret", value: cost, unit: "µs")]
    }

    private static func measured(
        _ name: String, _ door: LoopBound<RequestGuard>, times: Int, at wall: WallTime, isAllowed: Bool = true,
        request: @escaping @Sendable (Int) throws -> HTTP1Request
    ) async throws -> Figure {
        let (spent, allowed) = try await door.loop.run {
            var allowed = 0
            let before = processCPU()
            for number in 0..<times {
                // Failures are far apart, so that they are checked and not refused unheard.
                let now = AccessTime(
                    wall: wall, monotonic: MonotonicTime(nanoseconds: Int64(number) * 10_000_000_000))
                if case .success = door.wrapped.check(try request(number), now: now) { allowed += 1 }
            }
            return (microseconds(since: before, for: times), allowed)
        }
        guard allowed == (isAllowed ? times : 0) else {
            throw Refused(reason: "\(name): \(allowed) of \(times) allowed")
        }
        return Figure(name: name, value: spent, unit: "µs")
    }

    private static func request(body: [UInt8], _ fields: [(String, String)]) throws -> HTTP1Request {
        var headers: HTTP1Headers = [
            "Host": "localhost:8470", "User-Agent": "bench/1.0", "Accept": "*/*", "Content-Type": "application/json",
        ]
        for (name, value) in fields { headers.add(name, value: value) }
        return try HTTP1Request(
            method: .post, target: "/v1/messages", headers: headers, body: body,
            peer: .address(host: "127.0.0.1", port: 40000))
    }

    private static func signed(
        _ id: APIKeyID, _ secret: [UInt8], body: [UInt8], number: Int, created: Int64
    ) throws -> HTTP1Request {
        let digest = "sha-256=:\(Data(SHA256.hash(body).bytes).base64EncodedString()):"
        let names = #"("@method" "@path" "@query""# + (body.isEmpty ? ")" : #" "content-digest")"#)
        let parameters =
            "\(names);created=\(created);keyid=\"\(id)\";alg=\"hmac-sha256\";nonce=\"\(UUID().uuidString)\""
        let base =
            "\"@method\": POST\n\"@path\": /v1/messages\n\"@query\": ?\n"
            + (body.isEmpty ? "" : "\"content-digest\": \(digest)\n") + "\"@signature-params\": \(parameters)"
        let signature = HMACSHA256.authenticate(Array(base.utf8), key: secret)
        return try request(
            body: body,
            (body.isEmpty ? [] : [("Content-Digest", digest)]) + [
                ("Signature-Input", "carillon=\(parameters)"),
                ("Signature", "carillon=:\(Data(signature.bytes).base64EncodedString()):"),
            ])
    }
}

private struct Refused: Error {
    let reason: String
}
