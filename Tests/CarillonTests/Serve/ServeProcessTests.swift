import TestSupport
import Testing

@testable import carillon

/// `carillon serve` as operators use it: a process, its files, signals and ports.
@Suite(.timeLimit(.minutes(10))) struct ServeProcessTests {
    @Test func `it comes up, is ready when it is connected, and ends on SIGTERM`() async throws {
        let scene = try await ServeScene()
        let file = try scene.configure(scene.app("shop"))
        let serve = try await RunningServe(file)
        #expect(serve.served.apps.map(\.app) == ["shop"] && serve.served.apps[0].fault == nil)
        #expect(serve.served.router?.hasPrefix("tcp://127.0.0.1:") == true)
        #expect(try await serve.get("/healthz") == ("200", "ok\n"))
        try await serve.line("connection.up", "app=shop", "connection=1")
        let ready = try await serve.get("/readyz")
        #expect(ready.status == "200")
        #expect(ready.body == #"{"apps":[{"app":"shop","ready":true}],"ready":true}"# + "\n")

        // The lock is held while it runs, and no longer.
        let second = try await ChildProcess.run(
            RunningServe.words[0], Array(RunningServe.words.dropFirst()) + ["serve", "--config", file])
        #expect(second.status == 75)
        #expect(second.errors.contains("another Carillon (process "))
        let ended = try await serve.stop()
        #expect(ended.status == 0)
        #expect(ended.output.contains("stopped"))
        let third = try await RunningServe(file)
        #expect(try await third.stop().status == 0)
    }

    @Test func `sockets that are off are not there, and it runs without them`() async throws {
        let scene = try await ServeScene()
        let file = try scene.directory.write(
            "carillon.json5",
            """
            { data: 'data', http: { listen: '127.0.0.1:0' }, intake: { router: 'off', pull: 'ipc://pull.sock' },
              events: { publish: 'off', replay: 'off' }, apps: { \(scene.app("shop")) } }
            """)
        let serve = try await RunningServe(file)
        #expect(serve.served.router == nil && serve.served.publish == nil && serve.served.replay == nil)
        #expect(serve.served.pull == "ipc://\(scene.directory.path)/pull.sock")
        try await serve.line("connection.up", "app=shop")
        #expect(try await serve.get("/readyz").status == "200")
        #expect(try await serve.stop().status == 0)
    }

    @Test func `the page of metrics has every family`() async throws {
        let scene = try await ServeScene()
        try scene.issue()
        let certificate = scene.app("shop", credential: "certificate: 'push.pem'")
        let serve = try await RunningServe(try scene.configure(certificate, scene.app("news")))
        try await serve.line("connection.up")
        try await serve.line("connection.up")
        let page = try await serve.get("/metrics").body
        for line in [
            #"carillon_connections{app="shop",status="open"} 1"#, #"carillon_connections{app="news",status="open"} 1"#,
            #"carillon_gateway_state{app="shop",status="running"} 1"#,
            #"carillon_gateway_state{app="shop",status="halted"} 0"#, #"carillon_breaker_open{app="shop"} 0"#,
            #"carillon_in_flight{app="shop"} 0"#, #"carillon_queue{app="shop"} 0"#, #"carillon_credit{app="shop"} "#,
            #"carillon_connects_total{app="shop"} 1"#, "carillon_metrics_refused_series_total 0",
            #"carillon_credential_expiry_seconds{app="shop"} 259"#,
            #"carillon_provider_token_age_seconds{app="news"} "#, "process_open_fds ",
        ] {
            #expect(page.contains("\n" + line), "\(line)")
        }
        // What has not happened yet has no series.
        #expect(!page.contains("carillon_deliveries_total") && !page.contains("carillon_answers_total"))
        #expect(!page.contains(#"expiry_seconds{app="news"}"#) && !page.contains(#"token_age_seconds{app="shop"}"#))
        #expect(try await serve.get("/metrics/x").status == "404")
        #expect(try await serve.stop().status == 0)
    }

    @Test func `it is scaled while it runs, and a reload keeps that`() async throws {
        let scene = try await ServeScene()
        let serve = try await RunningServe(try scene.configure(scene.app("shop")))
        try await serve.line("connection.up", "connection=1")
        #expect(try await serve.gateway().scale == .init(1...4))
        #expect(try await serve.gateway(scaledTo: "2..3").scale == .init(2...3))
        try await serve.line("connection.scaled", "connections=2 minimum=2 maximum=3")
        try await serve.line("connection.up", "connection=2")
        #expect(try await serve.gateway().connections.count { $0.state == "open" } == 2)
        // A file that says what it said leaves it; another number in it goes first again.
        serve.reload()
        try await serve.line("configuration.reloaded", "count=0")
        #expect(try await serve.gateway().scale == .init(2...3))
        try scene.configure(scene.app("shop", gateway: "connections: { min: 1, max: 1 }"))
        serve.reload()
        try await serve.line("apps.shop.gateway.connections.max: 4 → 1: applies now")
        try await serve.line("connection.down")
        let after = try await serve.gateway()
        #expect(after.scale == .init(1...1) && after.connections.count == 1)
        #expect(try await serve.stop().status == 0)
    }

    @Test func `what it cannot serve does not hold up the rest, and comes up when it is mended`() async throws {
        let scene = try await ServeScene()
        let late = scene.app("late", credential: "certificate: 'late.pem'")
        let serve = try await RunningServe(try scene.configure(scene.app("shop"), late))
        try await serve.line("credential.failed", "app=late", "late.pem: No such file")
        try await serve.line("connection.up", "app=shop")
        #expect(serve.served.apps.first { $0.app == "late" }?.fault?.contains("late.pem") == true)
        let unready = try await serve.get("/readyz")
        #expect(unready.status == "503")
        #expect(unready.body.contains(#"{"app":"late","ready":false,"reason":"halted: cannot open "#))
        #expect(unready.body.contains(#"{"app":"shop","ready":true}"#))
        #expect(try await serve.gateway("late").state.hasPrefix("halted: cannot open"))
        #expect(try await serve.gateway("late", scaledTo: "2..2").scale == .init(2...2))

        try scene.issue("late.pem", topic: "com.example.late")
        serve.reload()
        try await serve.line("credential.rotated", "app=late")
        try await serve.line("connection.up", "app=late", "connection=")
        try await serve.line("connection.up", "app=late", "connection=")
        #expect(try await serve.get("/readyz").status == "200")
        #expect(try await serve.stop().status == 0)
    }

    @Test func `without connection it is not ready, and says which app and why`() async throws {
        let scene = try await ServeScene()
        let serve = try await RunningServe(try scene.configure(scene.app("shop")))
        try await serve.line("connection.up")
        _ = try await scene.simulator.stop()
        try await serve.line("connection.down")
        try await serve.line("connection.down")
        let unready = try await serve.get("/readyz")
        #expect(unready.status == "503")
        #expect(unready.body.contains(#""app":"shop","code":"refused","ready":false,"reason":""#), "\(unready.body)")
        #expect(unready.body.contains("cannot connect to 127.0.0.1:"))
        #expect(try await serve.stop().status == 0)
    }

    @Test(arguments: [
        (["--drain", "soon"], 64, "'--drain' wants a time"), (["--config", "/nowhere"], 78, "there is no such file"),
        (["--dta", "x"], 64, "did you mean '--data'?"),
    ]) func `mistakes are explained`(arguments: [String], status: Int32, text: String) async throws {
        let ended = try await ChildProcess.run(
            RunningServe.words[0], Array(RunningServe.words.dropFirst()) + ["serve"] + arguments)
        #expect(ended.status == status)
        #expect(ended.errors.contains(text))
        #expect(ended.output.isEmpty)
    }

    @Test func `a port that is taken is said, and nothing is left behind`() async throws {
        let scene = try await ServeScene()
        let taken = "127.0.0.1:\(scene.simulator.field("control"))"
        let file = try scene.configure(scene.app("shop"), http: taken)
        let ended = try await ChildProcess.run(
            RunningServe.words[0], Array(RunningServe.words.dropFirst()) + ["serve", "--config", file])
        #expect(ended.status == 69)
        #expect(ended.errors.contains("cannot open http.listen \(taken)"))
        let serve = try await RunningServe(try scene.configure(scene.app("shop"), http: "off"))
        #expect(serve.served.http == nil)
        #expect(try await serve.stop().status == 0)
    }

    @Test func `help says how it is ended and reloaded`() async throws {
        let ended = try await ChildProcess.run(ChildProcess.carillon, ["serve", "--help"])
        #expect(ended.output.contains("until SIGTERM; a second SIGTERM stops at once"))
        #expect(ended.output.contains("kill -HUP"))
    }
}
