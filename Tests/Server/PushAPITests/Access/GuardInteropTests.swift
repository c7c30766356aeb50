import PushLoop
import PushModel
import PushStore
import PushTransport
import TestSupport
import TestTraits
import Testing

@testable import PushAPI

/// Tests with clients that are not ours, over real sockets.
@Suite(.waits) struct GuardInteropTests {
    private static let body = #"{"id":"order-4711","app":"shop","to":{"users":["ada"]},"alert":"On its way"}"#

    private static func example(_ name: String) -> String {
        var path = #filePath.split(separator: "/")
        path.removeLast(5)
        return "/" + path.joined(separator: "/") + "/Tools/examples/\(name)"
    }

    /// Returns the first Python interpreter that has the libraries of the example, or nil.
    private static func interpreter() async throws -> String? {
        for candidate in ["python3", "/usr/bin/python3"] {
            let ended = try? await ChildProcess.run(candidate, ["-c", "import http_message_signatures, requests"])
            if ended?.status == 0 { return candidate }
        }
        return nil
    }

    /// Runs a client twice, once with the right secret and once with another one, and returns its outputs.
    private func outputs(_ command: String, _ arguments: [String] = []) async throws -> [String] {
        let directory = try TemporaryDirectory()
        let (book, loop) = (
            try await RegistryKeys.open(directory: directory.path), EventLoop(name: "interop-test", clock: .monotonic)
        )
        let registrar = await KeyRegistrar.open(book, directory: directory.path)
        let made = try await registrar.add(
            KeyDraft(name: try #require(APIKeyName("orders")), roles: RoleSet([.push])))
        let door = await RequestGuard.open(registrar, on: loop, settings: RequestGuard.Settings(isTLS: false))
        let (server, port) = try await loop.run { () throws(HTTP1Error) in
            let server = HTTP1Server(on: loop) { request, responder in
                switch door.wrapped.check(request) {
                case .success(let caller):
                    try? responder.respond(status: 202, body: Array("\(caller.name) \(request.body.count)".utf8))
                case .failure(let refusal):
                    try? responder.respond(status: refusal.status, body: Array(refusal.reason.rawValue.utf8))
                }
            }
            return (LoopBound(server, on: loop), try server.listen(host: "127.0.0.1", port: 0))
        }
        var outputs: [String] = []
        for secret in [made.secret.withRevealed { $0 }, Base64URL.encode(SecureRandom.bytes(32))] {
            let ended = try await ChildProcess.run(
                command, arguments + ["http://127.0.0.1:\(port)", made.key.id.description, secret, Self.body])
            outputs.append(ended.output + ended.errors)
        }
        await withCheckedContinuation { continuation in
            loop.execute { server.wrapped.close { continuation.resume() } }
        }
        await door.with { $0.stop() }
        await loop.shutDown()
        await book.close()
        return outputs
    }

    @Test func `The example with curl and openssl is accepted, and with another secret it is not`() async throws {
        let outputs = try await outputs("bash", [Self.example("push.sh")])
        #expect(outputs == ["orders \(Self.body.utf8.count)", "wrong_signature"])
    }

    @Test func `Python's http-message-signatures is accepted, and with another secret it is not`() async throws {
        guard let python = try await Self.interpreter() else {
            // The library is not in Debian; Documentation/Keys.md says how to install it.
            try Test.cancel("no Python with http-message-signatures and requests")
        }
        let outputs = try await outputs(python, ["-B", Self.example("push.py")])
        #expect(outputs == ["202 orders \(Self.body.utf8.count)", "401 wrong_signature"])
    }
}
