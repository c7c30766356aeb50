import PushAPI
import TestSupport
import TestTraits
import Testing

@testable import carillon

/// Tests of SIGHUP, which reloads a running Carillon.
@Suite(.waits) struct ServeReloadTests {
    @Test func `A new certificate in the same file replaces the connections, an unchanged one does not`() async throws {
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

    @Test func `An unusable new certificate leaves the old one in use`() async throws {
        let scene = try await ServeScene()
        try scene.issue()
        let serve = try await RunningServe(
            try scene.configure(scene.app("shop", credential: "certificate: 'push.pem'")))
        try await serve.line("connection.up")
        _ = try scene.directory.write("push.pem", containing: "no certificate")
        serve.reload()
        try await serve.line("new credential unusable", "credential.failed")
        try await serve.line("configuration.reloaded")
        #expect(try await serve.gateway().connections.map(\.id) == [1])
        #expect(try await serve.get("/readyz").status == "200")
        try scene.issue()
        serve.reload()
        try await serve.line("connection.up", "connection=2")
        #expect(try await serve.stop().status == 0)
    }

    @Test func `A reload with faults is refused and logs all faults`() async throws {
        let scene = try await ServeScene()
        let serve = try await RunningServe(try scene.configure(scene.app("shop")))
        try await serve.line("connection.up")
        // The log must contain all faults, although there are many at once.
        let wrong = (0..<30).map { "key\($0): 1," }.joined(separator: " ")
        try scene.configure(scene.app("shop"), more: wrong)
        serve.reload()
        for number in 0..<30 { try await serve.line("key\(number)\" here", "configuration.refused") }
        try await serve.line("the old one stays in force", "count=30")
        #expect(try await serve.get("/readyz").status == "200")
        #expect(try await serve.gateway().connections.map(\.id) == [1])
        // The next reload works.
        try scene.configure(scene.app("shop"), more: "dedupe: { window: '1d' },")
        serve.reload()
        try await serve.line("dedupe.window: 7d → 1d: applies now")
        try await serve.line("configuration.reloaded", "count=1")
        #expect(try await serve.stop().status == 0)
    }

    @Test func `A reload adds and removes apps, and logs which changes need a restart`() async throws {
        let scene = try await ServeScene()
        let serve = try await RunningServe(try scene.configure(scene.app("shop"), scene.app("old")))
        try await serve.line("connection.up")
        try await serve.line("connection.up")
        try scene.configure(scene.app("shop"), scene.app("new"), http: "127.0.0.1:9")
        serve.reload()
        try await serve.line("http.listen", "needs a restart; until then the old value stays")
        try await serve.line("apps.new: added, com.example.new: applies now")
        try await serve.line("apps.old: removed, was com.example.old: applies now")
        try await serve.line("connection.up", "app=new")
        let ready = try await serve.get("/readyz")
        #expect(ready.status == "200")
        #expect(ready.body == #"{"apps":[{"app":"new","ready":true},{"app":"shop","ready":true}],"ready":true}"# + "\n")
        #expect(!(try await serve.get("/metrics").body.contains(#"app="old""#)))
        // An app that returns uses its former metric series again.
        try scene.configure(scene.app("shop"), scene.app("old"))
        serve.reload()
        try await serve.line("connection.up", "app=old")
        #expect(try await serve.get("/metrics").body.contains(#"carillon_connections{app="old",status="open"} 1"#))
        #expect(try await serve.stop().status == 0)
    }

    @Test func `A stop during a reload of hundreds of apps succeeds`() async throws {
        let scene = try await ServeScene()
        let apps = (0..<300).map { scene.app("app\($0)", port: "1") }.joined(separator: "\n")
        let serve = try await RunningServe(try scene.configure(apps), ["--drain", "0s"])
        try scene.configure(apps, more: "dedupe: { window: '1d' },")
        serve.reload()
        // Changes that apply at once are logged before the files are read.
        try await serve.line("dedupe.window: 7d → 1d: applies now")
        let ended = try await serve.stop()
        #expect(ended.status == 0, "\(ended.output.suffix(2000))")
    }

    @Test func `A new endpoint gets new connections, and the old ones are closed`() async throws {
        let scene = try await ServeScene()
        let other = try await ServeScene()
        let serve = try await RunningServe(try scene.configure(scene.app("shop")))
        try await serve.line("connection.up", "connection=1")
        // The other simulator has its own CA and key.
        try scene.configure(other.app("shop"))
        serve.reload()
        try await serve.line("apps.shop.endpoint.port", "applies to new connections")
        try await serve.line("connection.up", "connection=2")
        try await serve.line("connection.down", "connection=1")
        let gateway = try await serve.gateway()
        #expect(gateway.connections.map(\.address) == ["127.0.0.1:\(other.simulator.field("provider"))"])
        #expect(try await serve.stop().status == 0)
    }

    @Test func `The log format changes with a reload`() async throws {
        let scene = try await ServeScene()
        let serve = try await RunningServe(try scene.configure(scene.app("shop")))
        try await serve.line("connection.up")
        try scene.configure(scene.app("shop"), more: "log: { format: 'json' },")
        serve.reload()
        try await serve.line("\"event\":\"configuration.reloaded\"")
        #expect(try await serve.stop().status == 0)
    }

    @Test func `The expiry of a certificate is logged once, also across a restart`() async throws {
        let scene = try await ServeScene()
        try scene.issue(days: 20)
        let file = try scene.configure(scene.app("shop", credential: "certificate: 'push.pem'"))
        var serve = try await RunningServe(file)
        try await serve.line("expires in 20 days", "app=shop", "credential.expiring", "window_days=30")
        // The time is in milliseconds since 1970, as in all events.
        let event = try await ChildProcess.run(
            RunningServe.words[0],
            Array(RunningServe.words.dropFirst()) + [
                "events", "--config", file, "--follow", "--since", "0", "--limit", "1", "--prefix",
                "credential/shop/expiring", "--json",
            ])
        let record = try #require(EventRecord(Array(event.output.utf8)), "\(event)")
        let left = (record.number("expires_at") ?? 0) - record.time.milliseconds
        #expect((19 * 86_400_000...21 * 86_400_000).contains(left), "\(event.output)")
        #expect(try await serve.stop().status == 0)

        serve = try await RunningServe(file)
        try await serve.line("connection.up")
        // A certificate that expires sooner is a new one and causes a warning; one that expires late does not.
        try scene.issue(days: 5)
        serve.reload()
        try await serve.line("expires in 5 days", "window_days=7")
        #expect(!serve.hasSaid("window_days=30"))
        try scene.issue(days: 300)
        serve.reload()
        try await serve.line("connection.up", "connection=3")
        #expect(
            try await serve.get("/metrics").body.contains(
                #"carillon_credential_expiry_timestamp_seconds{app="shop"} 1"#))
        let ended = try await serve.stop()
        #expect(ended.status == 0)
        #expect(!ended.output.contains("credential.expiring"))
    }

    @Test func `The time at which a certificate expires stays in the metrics if the certificate is not usable`()
        async throws
    {
        let scene = try await ServeScene()
        try scene.issue(days: 20)
        let file = try scene.configure(scene.app("shop", credential: "certificate: 'push.pem'"))
        func expiry(_ serve: RunningServe) async throws -> Substring? {
            try await serve.get("/metrics").body.split(separator: "\n").first {
                $0.hasPrefix(#"carillon_credential_expiry_timestamp_seconds{app="shop"} "#)
            }
        }
        var serve = try await RunningServe(file)
        try await serve.line("expires in 20 days")
        let first = try await expiry(serve)
        #expect(first != nil)
        _ = try scene.directory.write("push.pem", containing: "no certificate")
        serve.reload()
        try await serve.line("configuration.reloaded")
        #expect(try await expiry(serve) == first)
        #expect(try await serve.stop().status == 0)
        // An expired certificate cannot be used at the start either. Its time is known from the announcement.
        serve = try await RunningServe(file)
        try await serve.line("credential.failed")
        #expect(try await expiry(serve) == first)
        #expect(try await serve.stop().status == 0)
    }

    @Test func `A refused credential halts its app until it is replaced`() async throws {
        let scene = try await ServeScene()
        // The push service does not trust the CA of this certificate.
        try scene.issue(by: TestCertificates.shared.authority)
        let serve = try await RunningServe(
            try scene.configure(scene.app("shop", credential: "certificate: 'push.pem'")))
        try await serve.line("credential.failed", "app=shop")
        let unready = try await serve.get("/readyz")
        #expect(unready.status == "503")
        #expect(unready.body.contains(#""reason":"halted: "#))
        #expect(try await serve.get("/metrics").body.contains(#"gateway_state{app="shop",status="halted"} 1"#))
        // A reload retries an unchanged certificate, because the fault may have been fixed at the push service.
        serve.reload()
        try await serve.line("has not changed: the next delivery tries it at once", "app=shop")
        try scene.issue()
        serve.reload()
        try await serve.line("connection.up", "app=shop")
        #expect(try await serve.get("/readyz").status == "200")
        #expect(try await serve.stop().status == 0)
    }

    @Test func `A reload replaces the certificate of the HTTP port`() async throws {
        let scene = try await ServeScene()
        try scene.issueServer("http.pem", commonName: "The first")
        let tls = "http: { listen: '127.0.0.1:0', tls: { certificate: 'http.pem' } },"
        let file = try scene.directory.write(
            "carillon.json5",
            containing: "{ data: 'data', \(tls) \(ServeScene.anyPorts) apps: { \(scene.app("shop")) } }")
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
        _ = try scene.directory.write("http.pem", containing: "nothing")
        serve.reload()
        try await serve.line("http.tls cannot be used")
        try await serve.line("configuration.reloaded")
        #expect(try await shown().contains("CN=The second"))
        #expect(try await serve.stop().status == 0)
    }

    @Test func `The end of the certificate of the HTTP port is reported like that of an app`() async throws {
        let scene = try await ServeScene()
        let file = try scene.directory.write(
            "carillon.json5",
            containing: """
                { data: 'data', http: { listen: '127.0.0.1:0', tls: { certificate: 'http.pem' } },
                  \(ServeScene.anyPorts) apps: { \(scene.app("shop")) } }
                """)
        func carillon(_ verb: String) async throws -> ChildProcess.Ended {
            try await ChildProcess.run(
                RunningServe.words[0], Array(RunningServe.words.dropFirst()) + [verb, "--config", file])
        }
        try scene.issueServer("http.pem", commonName: "Soon", days: 20)
        let serve = try await RunningServe(file)
        try await serve.line("certificate of http.tls expires in 20 days", "credential.expiring")
        let soon = try await carillon("check")
        #expect(soon.status == 0 && soon.output.contains("warning: the certificate of http.tls expires in 20 days"))
        #expect(try await carillon("doctor").output.contains("the certificate of http.tls expires in 20 days"))

        try scene.issueServer("http.pem", commonName: "Ended", days: -9)
        serve.reload()
        try await serve.line("the certificate of http.tls has expired", "credential.failed")
        let ended = try await carillon("check")
        #expect(ended.status == 78 && ended.output.contains("fault: the certificate of http.tls expired"), "\(ended)")
        #expect(try await carillon("doctor").output.contains("the certificate of http.tls expired"))
        let url = try #require(serve.served.http)
        let answer = try await ChildProcess.run("curl", ["--silent", "--insecure", "\(url)/metrics"])
        #expect(answer.output.contains(#"carillon_credential_expiry_timestamp_seconds{kind="http"} 1"#))
        let control = try await ChildProcess.run(
            "curl",
            [
                "--silent", "--unix-socket", "\(scene.directory.path)/data/control.sock",
                "http://localhost/v1/credentials",
            ])
        #expect(control.output.contains(#""used_by":["http"]"#) && control.output.contains("CN=Ended"), "\(control)")
        #expect(try await serve.stop().status == 0)
    }

    @Test func `An app with the binary protocol connects and polls the feedback service`() async throws {
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
