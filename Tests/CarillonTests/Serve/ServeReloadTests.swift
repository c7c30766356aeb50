import TestSupport
import Testing

@testable import carillon

/// What SIGHUP does to a Carillon that runs, and what it must not do.
@Suite(.timeLimit(.minutes(10))) struct ServeReloadTests {
    @Test func `a new certificate under the old name rotates the connections, the same does not`() async throws {
        let scene = try await ServeScene()
        try scene.issue()
        let serve = try await RunningServe(
            try scene.configure(scene.app("shop", credential: "certificate: 'push.pem'")))
        try await serve.line("connection.up", "connection=1")
        serve.reload()
        try await serve.line("configuration.reloaded")
        #expect(try await serve.gateway().connections.map(\.id) == [1])
        #expect(!serve.hasSaid("credential.rotated"))

        for number in 2...3 {
            try scene.issue()
            serve.reload()
            try await serve.line("credential.rotated", "app=shop")
            try await serve.line("connection.up", "connection=\(number)")
            try await serve.line("connection.down", "connection=\(number - 1)")
            let gateway = try await serve.gateway()
            #expect(gateway.state == "up" && gateway.connections.map(\.id) == [UInt32(number)])
        }
        #expect(try await serve.stop().status == 0)
    }

    @Test func `a certificate that cannot be used leaves the old one in force`() async throws {
        let scene = try await ServeScene()
        try scene.issue()
        let serve = try await RunningServe(
            try scene.configure(scene.app("shop", credential: "certificate: 'push.pem'")))
        try await serve.line("connection.up")
        _ = try scene.directory.write("push.pem", "no certificate")
        serve.reload()
        try await serve.line("its new credential cannot be used", "credential.failed")
        try await serve.line("configuration.reloaded")
        #expect(try await serve.gateway().connections.map(\.id) == [1])
        #expect(try await serve.get("/readyz").status == "200")
        try scene.issue()
        serve.reload()
        try await serve.line("connection.up", "connection=2")
        #expect(try await serve.stop().status == 0)
    }

    @Test func `a file with faults is refused with all of them`() async throws {
        let scene = try await ServeScene()
        let serve = try await RunningServe(try scene.configure(scene.app("shop")))
        try await serve.line("connection.up")
        // More than a log in a hurry would let through.
        let wrong = (0..<30).map { "key\($0): 1," }.joined(separator: " ")
        try scene.configure(scene.app("shop"), more: wrong)
        serve.reload()
        for number in 0..<30 { try await serve.line("key\(number)\" here", "configuration.refused") }
        try await serve.line("the old one stays in force", "count=30")
        #expect(try await serve.get("/readyz").status == "200")
        #expect(try await serve.gateway().connections.map(\.id) == [1])
        // And it hears the next one.
        try scene.configure(scene.app("shop"), more: "dedupe: { window: '1d' },")
        serve.reload()
        try await serve.line("dedupe.window: 7d → 1d: applies now")
        try await serve.line("configuration.reloaded", "count=1")
        #expect(try await serve.stop().status == 0)
    }

    @Test func `apps come and go, and what needs a restart is said`() async throws {
        let scene = try await ServeScene()
        let serve = try await RunningServe(try scene.configure(scene.app("shop"), scene.app("old")))
        try await serve.line("connection.up")
        try await serve.line("connection.up")
        try scene.configure(scene.app("shop"), scene.app("new"), http: "127.0.0.1:9")
        serve.reload()
        try await serve.line("http.listen", "needs a restart; until then the old value stays")
        try await serve.line("apps.new: new, com.example.new: applies now")
        try await serve.line("apps.old: gone, was com.example.old: applies now")
        try await serve.line("connection.up", "app=new")
        let ready = try await serve.get("/readyz")
        #expect(ready.status == "200")
        #expect(ready.body == #"{"apps":[{"app":"new","ready":true},{"app":"shop","ready":true}],"ready":true}"# + "\n")
        #expect(!(try await serve.get("/metrics").body.contains(#"app="old""#)))
        // Back again, at once: it counts under the names that it had.
        try scene.configure(scene.app("shop"), scene.app("old"))
        serve.reload()
        try await serve.line("connection.up", "app=old")
        #expect(try await serve.get("/metrics").body.contains(#"carillon_connections{app="old",status="open"} 1"#))
        #expect(try await serve.stop().status == 0)
    }

    @Test func `a stop while the files of hundreds of apps are read again ends in order`() async throws {
        let scene = try await ServeScene()
        let apps = (0..<300).map { scene.app("app\($0)", port: "1") }.joined(separator: "\n")
        let serve = try await RunningServe(try scene.configure(apps), ["--drain", "0s"])
        try scene.configure(apps, more: "dedupe: { window: '1d' },")
        serve.reload()
        // What applies at once is said before the files are read.
        try await serve.line("dedupe.window: 7d → 1d: applies now")
        let ended = try await serve.stop()
        #expect(ended.status == 0, "\(ended.output.suffix(2000))")
    }

    @Test func `another endpoint takes new connections, and the old ones end`() async throws {
        let scene = try await ServeScene()
        let other = try await ServeScene()
        let serve = try await RunningServe(try scene.configure(scene.app("shop")))
        try await serve.line("connection.up", "connection=1")
        // The other one has an authority and a key of its own.
        try scene.configure(other.app("shop"))
        serve.reload()
        try await serve.line("apps.shop.endpoint.port", "applies to connections made from now on")
        try await serve.line("connection.up", "connection=2")
        try await serve.line("connection.down", "connection=1")
        let gateway = try await serve.gateway()
        #expect(gateway.connections.map(\.address) == ["127.0.0.1:\(other.simulator.field("provider"))"])
        #expect(try await serve.stop().status == 0)
    }

    @Test func `log level and format follow at once`() async throws {
        let scene = try await ServeScene()
        let serve = try await RunningServe(try scene.configure(scene.app("shop")))
        try await serve.line("connection.up")
        try scene.configure(scene.app("shop"), more: "log: { format: 'json' },")
        serve.reload()
        try await serve.line("\"event\":\"configuration.reloaded\"")
        #expect(try await serve.stop().status == 0)
    }

    @Test func `the end of a certificate is said once, also across a restart`() async throws {
        let scene = try await ServeScene()
        try scene.issue(days: 20)
        let file = try scene.configure(scene.app("shop", credential: "certificate: 'push.pem'"))
        var serve = try await RunningServe(file)
        try await serve.line("ends in 20 days", "app=shop", "credential.expiring", "window_days=30")
        // Milliseconds since 1970, as in every other event.
        let event = try await ChildProcess.run(
            RunningServe.words[0],
            Array(RunningServe.words.dropFirst()) + [
                "events", "--config", file, "--follow", "--since", "0", "--limit", "1", "--prefix",
                "credential/shop/expiring", "--json",
            ])
        let record = try #require(EventRecord(Array(event.output.utf8)), "\(event)")
        let left = (record.number("expires_at") ?? 0) - record.time
        #expect((19 * 86_400_000...21 * 86_400_000).contains(left), "\(event.output)")
        #expect(try await serve.stop().status == 0)

        serve = try await RunningServe(file)
        try await serve.line("connection.up")
        // One that ends sooner is another one, and has something to say; one that ends late has not.
        try scene.issue(days: 5)
        serve.reload()
        try await serve.line("ends in 5 days", "window_days=7")
        #expect(!serve.hasSaid("window_days=30"))
        try scene.issue(days: 300)
        serve.reload()
        try await serve.line("connection.up", "connection=3")
        #expect(try await serve.get("/metrics").body.contains(#"carillon_credential_expiry_seconds{app="shop"} 259"#))
        let ended = try await serve.stop()
        #expect(ended.status == 0)
        #expect(!ended.output.contains("credential.expiring"))
    }

    @Test func `a credential that is refused halts its app until there is another`() async throws {
        let scene = try await ServeScene()
        // Of an authority that the push service does not know.
        try scene.issue(by: TestCertificates.shared.authority)
        let serve = try await RunningServe(
            try scene.configure(scene.app("shop", credential: "certificate: 'push.pem'")))
        try await serve.line("credential.failed", "app=shop")
        let unready = try await serve.get("/readyz")
        #expect(unready.status == "503")
        #expect(unready.body.contains(#""reason":"halted: "#))
        #expect(try await serve.get("/metrics").body.contains(#"gateway_state{app="shop",status="halted"} 1"#))
        // The same again: who asks for it may have mended the other side.
        serve.reload()
        try await serve.line("credential.rotated", "app=shop")
        try await serve.line("credential.failed", "app=shop")
        try scene.issue()
        serve.reload()
        try await serve.line("connection.up", "app=shop")
        #expect(try await serve.get("/readyz").status == "200")
        #expect(try await serve.stop().status == 0)
    }

    @Test func `the certificate of the HTTP port is renewed by a reload`() async throws {
        let scene = try await ServeScene()
        try scene.issueServer("http.pem", commonName: "The first")
        let tls = "http: { listen: '127.0.0.1:0', tls: { certificate: 'http.pem' } },"
        let file = try scene.directory.write(
            "carillon.json5", "{ data: 'data', \(tls) \(ServeScene.anyPorts) apps: { \(scene.app("shop")) } }")
        let serve = try await RunningServe(file)
        func shown() async throws -> String {
            let url = try #require(serve.served.http)
            #expect(url.hasPrefix("https://"))
            let ended = try await ChildProcess.run(
                "curl", ["-v", "--silent", "--cacert", scene.simulator.field("ca"), "\(url)/healthz"])
            #expect(ended.output == "ok\n")
            return ended.errors
        }
        #expect(try await shown().contains("CN=The first"))
        try scene.issueServer("http.pem", commonName: "The second")
        serve.reload()
        try await serve.line("configuration.reloaded")
        #expect(try await shown().contains("CN=The second"))
        _ = try scene.directory.write("http.pem", "nothing")
        serve.reload()
        try await serve.line("http.tls cannot be used")
        try await serve.line("configuration.reloaded")
        #expect(try await shown().contains("CN=The second"))
        #expect(try await serve.stop().status == 0)
    }

    @Test func `an app of the binary protocol connects, and its feedback service is asked`() async throws {
        let scene = try await ServeScene()
        try scene.issue()
        let gone = String(repeating: "ab", count: 32)
        let told = try await ChildProcess.run(
            "curl",
            [
                "--silent", "--show-error", "--fail", "--data", "{\"token\": \"\(gone)\", \"time\": 1767225600}",
                "\(scene.simulator.control)/feedback",
            ])
        #expect(told.status == 0, "\(told.errors)")
        let file = try scene.configure(
            scene.app(
                "shop", credential: "certificate: 'push.pem'",
                gateway: "protocol: 'binary', feedback: { port: \(scene.simulator.field("feedback")) }",
                port: scene.simulator.field("binary")))
        let serve = try await RunningServe(file)
        try await serve.line("connection.up", "app=shop")
        #expect(try await serve.get("/readyz").status == "200")
        let event = try await ChildProcess.run(
            RunningServe.words[0],
            Array(RunningServe.words.dropFirst()) + [
                "events", "--config", file, "--follow", "--since", "0", "--limit", "1", "--prefix", "device/", "--json",
            ])
        #expect(event.output.contains(#""kind":"deactivated""#) && event.output.contains(#""reason":"feedback""#))
        #expect(event.output.contains(#""time":1767225600000"#), "\(event)")
        #expect(try await serve.stop().status == 0)
    }
}
