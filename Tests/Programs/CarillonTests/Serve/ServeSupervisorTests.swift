import Foundation
import PushServer
import TestSupport
import TestTraits
import Testing

@testable import carillon

/// Tests of `carillon serve` below a service manager, and of a new installation.
@Suite(.waits) struct ServeSupervisorTests {
    /// Waits for the next report that begins with this line. Reports that only change the status are skipped.
    private static func report(_ first: String, at peer: NotifyPeer) async throws -> [String] {
        while true {
            let report = try await peer.next()
            if report.first == "WATCHDOG=1" || report.first?.hasPrefix("STATUS=") == true { continue }
            #expect(report.first == first)
            return report
        }
    }

    @Test func `The service manager learns when serve is ready, reloads and stops`() async throws {
        let scene = try await ServeScene()
        let peer = try NotifyPeer(scene.directory.path + "/notify")
        let serve = try await RunningServe(
            try scene.configure(scene.app("shop")), environment: ["NOTIFY_SOCKET=\(peer.name)"])
        let ready = try await Self.report("READY=1", at: peer)
        #expect(ready.count == 2 && ready[1].hasPrefix("STATUS="))
        // All sockets are bound by then.
        #expect(try await serve.get("/healthz").status == "200")
        serve.reload()
        #expect(try await Self.report("RELOADING=1", at: peer)[1].hasPrefix("MONOTONIC_USEC="))
        _ = try await Self.report("READY=1", at: peer)
        serve.process.send(15)
        let stopping = try await Self.report("STOPPING=1", at: peer)
        #expect(stopping.contains("EXTEND_TIMEOUT_USEC=90000000"))
        #expect(try await serve.process.end().status == 0)
    }

    @Test func `A process with a watchdog beats again and again`() async throws {
        let scene = try await ServeScene()
        let peer = try NotifyPeer("@carillon-test-\(UUID().uuidString)")
        let serve = try await RunningServe(
            try scene.configure(scene.app("shop")),
            environment: ["NOTIFY_SOCKET=\(peer.name)", "WATCHDOG_USEC=30000"])
        var beats = 0
        while beats < 3 {
            if try await peer.next() == ["WATCHDOG=1"] { beats += 1 }
        }
        #expect(try await serve.stop().status == 0)
    }

    @Test func `Without an app serve starts, says what is missing, and a reload adds the app`() async throws {
        let scene = try await ServeScene()
        let file = try scene.configure()
        let check = try await ChildProcess.run(
            RunningServe.words[0], Array(RunningServe.words.dropFirst()) + ["check", "--config", file])
        #expect(check.status == 0)
        #expect((check.output + check.errors).contains("there is no app, so nothing can be sent; add one: apps: {"))
        let serve = try await RunningServe(file)
        try await serve.line("WARNING", "there is no app, so nothing can be sent; add one: apps: {")
        let unready = try await serve.get("/readyz")
        #expect(unready.status == "503")
        #expect(unready.body.contains(#""reason":"there is no app: add one to apps in the configuration"#))
        #expect(try await serve.get("/healthz").status == "200")
        try scene.configure(scene.app("shop"))
        serve.reload()
        try await serve.line("connection.up", "app=shop")
        #expect(try await serve.get("/readyz").status == "200")
        #expect(try await serve.stop().status == 0)
        // A file without `apps` may be the wrong file.
        _ = try scene.directory.write("empty.json5", containing: "{ data: 'data' }")
        let empty = try await ChildProcess.run(
            RunningServe.words[0],
            Array(RunningServe.words.dropFirst()) + ["serve", "--config", scene.directory.path + "/empty.json5"])
        #expect(empty.status == 78 && empty.errors.contains("apps: {} starts without one"))
    }

    @Test func `The version names the commit and the libraries`() async throws {
        let text = try await ChildProcess.run(ChildProcess.carillon, ["version"])
        let lines = text.output.split(separator: "\n")
        #expect(text.status == 0 && lines.first == "carillon \(Release.version)")
        for name in ["commit", "swift", "openssl", "nghttp2", "libevent", "libzmq", "sqlite", "simdjson", "libpq"] {
            #expect(lines.contains { $0.hasPrefix("\(name) ") }, "\(name)")
        }
        let json = try await ChildProcess.run(ChildProcess.carillon, ["version", "--json"])
        let answer = try #require(
            JSONSerialization.jsonObject(with: Data(json.output.utf8)) as? [String: Any])
        let libraries = try #require(answer["libraries"] as? [String: Any])
        #expect(answer["version"] as? String == Release.version && answer["commit"] as? String == "unknown")
        #expect((libraries["openssl"] as? String)?.hasPrefix("3.") == true && libraries.count == 7)
    }
}
