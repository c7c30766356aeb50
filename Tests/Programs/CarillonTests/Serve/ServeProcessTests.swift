import TestSupport
import TestTraits
import Testing

@testable import carillon

/// Tests of `carillon serve` as operators use it: as a process with its files, signals and ports.
@Suite(.waits) struct ServeProcessTests {
    @Test func `A process starts, is ready when it is connected, and ends on SIGTERM`() async throws {
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

        // The lock is held exactly while the process runs.
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

    @Test func `Sockets that are off are not opened`() async throws {
        let scene = try await ServeScene()
        let file = try scene.directory.write(
            "carillon.json5",
            containing: """
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

    @Test func `The metrics page contains all families`() async throws {
        let scene = try await ServeScene()
        try scene.issue()
        let certificate = scene.app("shop", credential: "certificate: 'push.pem'")
        let serve = try await RunningServe(try scene.configure(certificate, scene.app("news")))
        try await serve.line("connection.up")
        try await serve.line("connection.up")
        // A token may be counted a moment after the connection that it is for.
        var page = ""
        while !page.contains("\ncarillon_provider_token_age_seconds{app=\"news\"} ") {
            page = try await serve.get("/metrics").body
        }
        for line in [
            #"carillon_connections{app="shop",status="open"} 1"#, #"carillon_connections{app="news",status="open"} 1"#,
            #"carillon_gateway_state{app="shop",status="running"} 1"#,
            #"carillon_gateway_state{app="shop",status="halted"} 0"#, #"carillon_breaker_open{app="shop"} 0"#,
            #"carillon_in_flight{app="shop"} 0"#, #"carillon_queue{app="shop"} 0"#, #"carillon_credit{app="shop"} "#,
            #"carillon_connects_total{app="shop"} 1"#, "carillon_metrics_refused_series_total 0",
            #"carillon_credential_expiry_timestamp_seconds{app="shop"} 1"#,
            #"carillon_provider_token_age_seconds{app="news"} "#, "process_open_fds ",
        ] {
            #expect(page.contains("\n" + line), "\(line)")
        }
        // Counters without events have no series.
        #expect(!page.contains("carillon_deliveries_total") && !page.contains("carillon_answers_total"))
        #expect(
            !page.contains(#"expiry_timestamp_seconds{app="news"}"#)
                && !page.contains(#"token_age_seconds{app="shop"}"#))
        #expect(try await serve.get("/metrics/x").status == "404")
        #expect(try await serve.stop().status == 0)
    }

    @Test func `A running gateway can be scaled, and a reload keeps the scale`() async throws {
        let scene = try await ServeScene()
        let serve = try await RunningServe(try scene.configure(scene.app("shop")))
        try await serve.line("connection.up", "connection=1")
        #expect(try await serve.gateway().scale == .init(1...4))
        #expect(try await serve.gateway(scaledTo: "2..3").scale == .init(2...3))
        try await serve.line("connection.scaled", "connections=2 minimum=2 maximum=3")
        try await serve.line("connection.up", "connection=2")
        #expect(try await serve.gateway().connections.count { $0.state == "open" } == 2)
        // A reload with an unchanged file keeps the scale; a reload with another number in the file replaces it.
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

    @Test func `A faulty app does not affect other apps, and works after a fix and a reload`() async throws {
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

    @Test func `Without a connection, readyz names the app and the reason`() async throws {
        let scene = try await ServeScene()
        let serve = try await RunningServe(try scene.configure(scene.app("shop")))
        try await serve.line("connection.up")
        _ = try await scene.simulator.stop()
        // Before that, connections may be lost in the midst of a handshake.
        try await serve.line("connection.down", "code=refused")
        let unready = try await serve.get("/readyz")
        #expect(unready.status == "503")
        #expect(unready.body.contains(#""app":"shop","code":"refused","ready":false,"reason":""#), "\(unready.body)")
        #expect(unready.body.contains("cannot connect to 127.0.0.1:"))
        #expect(try await serve.stop().status == 0)
    }

    @Test(arguments: [
        (["--drain", "soon"], 64, "'--drain' must be a time"), (["--config", "/nowhere"], 78, "there is no such file"),
        (["--dta", "x"], 64, "did you mean '--data'?"),
    ]) func `Usage errors are explained`(arguments: [String], status: Int32, text: String) async throws {
        let ended = try await ChildProcess.run(
            RunningServe.words[0], Array(RunningServe.words.dropFirst()) + ["serve"] + arguments)
        #expect(ended.status == status)
        #expect(ended.errors.contains(text))
        #expect(ended.output.isEmpty)
    }

    @Test func `A port in use is reported, and the next start succeeds`() async throws {
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

    @Test func `The help explains how to stop and reload`() async throws {
        let ended = try await ChildProcess.run(ChildProcess.carillon, ["serve", "--help"])
        #expect(ended.output.contains("until SIGTERM; a second SIGTERM stops at once"))
        #expect(ended.output.contains("kill -HUP"))
    }
}
