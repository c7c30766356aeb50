import Foundation
import PushLoop
import PushTransport
import TestSupport
import TestTraits
import Testing

/// Tests of draining, closing and Unix sockets.
@Suite(.waits) struct HTTP1LifecycleTests {
    private let get = "GET / HTTP/1.1\r\nHost: x\r\n\r\n"

    @Test("Drain finishes requests in progress") func drainFinishesWhatIsInProgress() async throws {
        let held = Held<HTTP1Responder?>(nil)
        let handler: TestHandler = { request, responder in
            if request.path == ["slow"] { held.value = responder } else { echo(request, responder) }
        }
        try await withServer(handler: handler) { server in
            let idle = try server.client()
            try idle.send(get)
            #expect(try idle.answer().status == 200)
            let silent = try server.client()
            let slow = try server.client()
            try slow.send("GET /slow HTTP/1.1\r\nHost: x\r\n\r\n")
            await server.until { $0.requests == 2 && $0.accepted == 3 }
            let done = Tally()
            await server.loop.run { server.server.wrapped.drain { done.add() } }
            #expect(try idle.isAtEnd())
            #expect(try silent.isAtEnd())
            // A child process that another test starts holds the listener until it executes its program.
            await wait(while: (try? server.client()) != nil)
            await server.until { $0.open == 1 }
            #expect(await server.counts.accepted == 3)
            #expect(done.value == 0)
            try await server.loop.run { try held.value.take()?.respond(status: 200, body: Array("slow".utf8)) }
            let answer = try slow.answer()
            #expect(answer.text == "slow")
            #expect(answer.header("Connection") == "close")
            #expect(try slow.isAtEnd())
            await done.reaches(1)
        }
    }

    @Test("Drain aborts the remaining requests at its deadline") func drainCutsWhatIsLeftAtItsDeadline() async throws {
        let held = Held<HTTP1Responder?>(nil)
        let closed = Tally()
        try await withServer(
            clock: .manual(),
            handler: { _, responder in
                responder.onClose = { closed.add() }
                held.value = responder
            }
        ) { server in
            let client = try server.client()
            try client.send(get)
            await server.until { $0.requests == 1 }
            let done = Tally()
            await server.loop.run { server.server.wrapped.drain(within: .seconds(5)) { done.add() } }
            await server.loop.advance(by: .seconds(4))
            #expect(closed.value == 0)
            await server.loop.advance(by: .seconds(1))
            #expect(try client.isAtEnd())
            await done.reaches(1)
            #expect(closed.value == 1)
            // This answer is too late and has no effect.
            try await server.loop.run { try held.value.take()?.respond(status: 200) }
        }
    }

    @Test("Close stops at once") func closeStopsAtOnce() async throws {
        let closed = Tally()
        let held = Held<[HTTP1Responder]>([])
        try await withServer(handler: { _, responder in
            responder.onClose = { closed.add() }
            held.value.append(responder)
        }) { server in
            let clients = try (1...10).map { _ in try server.client() }
            for client in clients { try client.send(get) }
            await server.until { $0.requests == 10 }
            try await server.loop.run { try held.value[0].start(status: 200) }
            await server.close()
            #expect(closed.value == 10)
            #expect(try clients[5].isAtEnd())
            await server.loop.run { held.value = [] }
            await #expect(throws: HTTP1Error.self) {
                try await server.loop.run { () throws(HTTP1Error) in
                    try server.server.wrapped.listen(host: "127.0.0.1", port: 0)
                }
            }
        }
    }

    // MARK: Unix sockets

    @Test("A Unix socket is usable only by its user") func servesAUnixSocketThatOnlyItsUserMayUse() async throws {
        try await withDirectory { directory in
            let path = directory + "/http.sock"
            try await withServer(handler: { request, responder in
                try? responder.respond(status: 200, body: Array("\(request.peer)".utf8))
            }) { server in
                try await server.loop.run { () throws(HTTP1Error) in
                    try server.server.wrapped.listen(unixSocket: path)
                }
                let mode = try FileManager.default.attributesOfItem(atPath: path)[.posixPermissions] as? Int
                #expect(mode == 0o600)
                let text = try await curl("--unix-socket", path, "http://localhost/")
                #expect(text == "local")
            }
            #expect(!FileManager.default.fileExists(atPath: path))
        }
    }

    @Test("A socket file is replaced only if nobody listens on it")
    func replacesASocketFileOnlyIfNobodyAnswers() async throws {
        try await withDirectory { directory in
            let path = directory + "/http.sock"
            let listen: @Sendable (TestServer) async throws -> Void = { server in
                try await server.loop.run { () throws(HTTP1Error) in
                    try server.server.wrapped.listen(unixSocket: path)
                }
            }
            // The file that a killed process leaves.
            let stale = socket(AF_UNIX, Int32(SOCK_STREAM.rawValue), 0)
            var address = sockaddr_un()
            address.sun_family = sa_family_t(AF_UNIX)
            withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: path.utf8) }
            let bound = withUnsafePointer(to: &address) {
                $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                    bind(stale, $0, socklen_t(MemoryLayout<sockaddr_un>.size))
                }
            }
            #expect(bound == 0)
            close(stale)
            try await withServer { first in
                try await listen(first)
                #expect(try await curl("--unix-socket", path, "http://localhost/x").hasPrefix("GET /x"))
                try await withServer { second in
                    do {
                        try await listen(second)
                        Issue.record("a socket in use was replaced")
                    } catch let error as HTTP1Error {
                        #expect(error.code == .inUse)
                    }
                }
                #expect(try await curl("--unix-socket", path, "http://localhost/x").hasPrefix("GET /x"))
            }
            // A file that is not a socket is never replaced.
            try "precious".write(toFile: path, atomically: true, encoding: .utf8)
            try await withServer { third in
                await #expect(throws: HTTP1Error.self) { try await listen(third) }
            }
            #expect(try String(contentsOfFile: path, encoding: .utf8) == "precious")
        }
    }

    @Test("A path that is too long is rejected") func refusesAPathThatIsTooLong() async throws {
        try await withServer { server in
            await #expect(throws: HTTP1Error.self) {
                try await server.loop.run { () throws(HTTP1Error) in
                    try server.server.wrapped.listen(unixSocket: "/tmp/" + String(repeating: "a", count: 200))
                }
            }
        }
    }
}

func withDirectory(_ body: (String) async throws -> Void) async throws {
    let directory = FileManager.default.temporaryDirectory.appendingPathComponent("carillon-\(UUID().uuidString)")
    try FileManager.default.createDirectory(at: directory, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(at: directory) }
    try await body(directory.path)
}

/// Returns the output of curl, or throws its error.
func curl(_ arguments: String...) async throws -> String {
    let ended = try await ChildProcess.run("curl", ["--silent", "--show-error", "--max-time", "300"] + arguments)
    guard ended.status == 0 else { throw RawClient.Failure(what: "curl: \(ended.errors)") }
    return ended.output
}
