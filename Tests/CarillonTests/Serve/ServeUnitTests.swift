import PushLoop
import PushModel
import PushPipeline
import TestSupport
import Testing

@testable import carillon

@Suite(.timeLimit(.minutes(10))) struct ServeUnitTests {
    // MARK: Security

    @Test(arguments: [
        ("tcp://127.0.0.1:0", "", false), ("tcp://127.0.0.1:0", "curve: { secret_key_file: 's.curve' }", true),
        // Keys are asked for on TCP alone, so that whoever comes by the other way has no name.
        ("ipc://replay.sock", "curve: { secret_key_file: 's.curve' }", false),
    ])
    func `who may ask for events again has a name where there are keys`(
        replay: String, curve: String, isNamed: Bool
    ) throws {
        let clients = "clients: { grafana: { public_key: 'rq:rM>}U?@Lns47E1%kR.o@n%FcmmsL/@{H8]yf7', observe: true } }"
        let security = curve.isEmpty ? "" : "security: { \(curve), \(clients) },"
        let parsed = try parseConfiguration("{ events: { replay: '\(replay)' }, \(security) \(minimalApp) }")
        #expect(parsed.configuration.observers == (isNamed ? .named(["grafana"]) : .everybody))
    }

    // MARK: Readiness

    private static func served(
        _ state: GatewayStatus.State?, open: Int = 0, failed: Int = 0, fault: String? = nil
    ) throws -> ServedStatus {
        let app = try #require(try parseConfiguration("{ \(minimalApp) }").configuration.apps.first)
        let connections = (0..<open).map { ConnectionStatus(id: ConnectionID(UInt32($0)), state: .open, age: .zero) }
        let status = state.map {
            GatewayStatus(
                app: app.id, state: $0, queue: 0, outstanding: 0, credit: 0, minimum: 1, maximum: 4, wanted: 1,
                failedConnectsInARow: failed, counts: GatewayCounts(), connections: connections)
        }
        return ServedStatus(app: app, connections: 1...4, fault: fault, gateway: status)
    }

    @Test func `ready is who could send now, and who could not is told why`() throws {
        let halt = GatewayHalt(.refused, "the provider refused the key")
        let table: [(ServedStatus, String?)] = [
            (try Self.served(.running, open: 1), nil),
            (try Self.served(.running), "no connection is open yet"),
            (try Self.served(.running, failed: 1), "no connection is open; an attempt failed"),
            (try Self.served(.running, failed: 7), "no connection is open; 7 attempts in a row failed"),
            (
                try Self.served(.paused(for: .seconds(12), .unreachable(attempts: 5)), open: 1),
                "paused for 12 s: 5 attempts to connect failed in a row"
            ),
            (try Self.served(.halted(halt), open: 1), "halted: the provider refused the key"),
            (try Self.served(.draining, open: 1), "draining"), (try Self.served(.closed), "stopped"),
            (try Self.served(nil, fault: "no such file"), "halted: no such file"),
        ]
        for (status, obstacle) in table { #expect(status.obstacle == obstacle) }
        #expect(try Self.served(.probing, open: 1).obstacle?.hasPrefix("probing") == true)
        #expect(Readiness([table[0].0]).ready)
        #expect(!Readiness([table[0].0, table[1].0]).ready)
        #expect(!Readiness([]).ready)
    }

    // MARK: Signals

    @Test func `however often a reload is asked for, one follows, and to stop goes first`() async {
        let insisted = Locked(0)
        let signals = ServeSignals { insisted.withLock { $0 += 1 } }
        for _ in 0..<5 { signals.came(.hangUp) }
        #expect(await signals.next() == .reload)
        async let next = signals.next()
        signals.came(.hangUp)
        #expect(await next == .reload)
        signals.came(.hangUp)
        signals.came(.terminate)
        #expect(await signals.next() == .stop)
        #expect(insisted.withLock { $0 } == 0 && !signals.hasInsisted)
        signals.came(.hangUp)
        signals.came(.interrupt)
        signals.came(.terminate)
        #expect(insisted.withLock { $0 } == 1 && signals.hasInsisted)
        #expect(await signals.next() == .stop)
    }

    // MARK: What was said

    @Test func `what was said is read again, and what is no record is refused`() throws {
        let directory = try TemporaryDirectory()
        let record = ExpiryRecord(directory: directory.path)
        #expect(try record.read().isEmpty)
        _ = try directory.write(
            ExpiryRecord.fileName,
            #"[{"app":"shop","days":7,"not_after_ms":1800000000000},{"app":"news","days":1,"not_after_ms":1}]"#)
        let said = try record.read()
        #expect(said.map(\.name) == ["shop", "news"])
        #expect(said.map(\.window.days) == [7, 1])
        #expect(said.map(\.notAfter.milliseconds) == [1_800_000_000_000, 1])
        try record.write([])
        #expect(try record.read().isEmpty)
        try record.write(said)
        #expect(try record.read() == said)
        for text in ["", "{", "[{\"app\":1}]", "null"] {
            _ = try directory.write(ExpiryRecord.fileName, text)
            #expect(throws: (any Error).self, "\(text)") { try record.read() }
        }
        // A window of tomorrow's version is passed over.
        _ = try directory.write(ExpiryRecord.fileName, #"[{"app":"shop","days":90,"not_after_ms":1}]"#)
        #expect(try record.read().isEmpty)
    }

    // MARK: Metrics

    private static func report(_ outcome: DeliveryOutcome) throws -> DeliveryReport {
        let message = Message(id: try #require(MessageID("m")), app: try #require(AppID("shop")), payload: [])
        return DeliveryReport(
            Delivery(
                ticket: 1, message: message, token: DeviceToken(words: (1, 2, 3, 4)), apnsID: APNSID(high: 1, low: 2)),
            outcome, latency: .milliseconds(3))
    }

    @Test func `answers are counted under closed sets, and go with their app`() throws {
        let registry = MetricsRegistry()
        let app = try #require(AppID("shop"))
        let metrics = AppMetrics(app, in: registry)
        var reports = try (0..<3).map { _ in try Self.report(.accepted(uniqueID: nil)) }
        for word in ["Unregistered", "NotOnSundays", "NorOnMondays"] {
            let refusal = Refusal(status: word == "Unregistered" ? 410 : 499, reason: ProviderReason(rawValue: word))
            reports.append(try Self.report(.rejected(refusal, deactivates: false)))
        }
        // No answer at all, put off.
        reports.append(try Self.report(.retry(after: .zero, Refusal(status: 0, reason: nil))))
        reports.append(try Self.report(.unknown(.timeout)))
        metrics.count(reports)
        let page = registry.render()
        for line in [
            #"answers_total{app="shop",status="200",reason="none"} 3"#,
            #"answers_total{app="shop",status="410",reason="Unregistered"} 1"#,
            #"answers_total{app="shop",status="other",reason="other"} 2"#,
            #"deliveries_total{app="shop",kind="rejected"} 3"#, #"deliveries_total{app="shop",kind="retry"} 1"#,
            #"deliveries_total{app="shop",kind="unknown"} 1"#, #"carillon_answer_seconds_count{app="shop"} 6"#,
        ] {
            #expect(page.contains(line), "\(line)")
        }
        #expect(!page.contains("Sundays") && !page.contains(#"status="0""#))
        metrics.remove()
        #expect(!registry.render().contains("shop"))
        // A late report of the one that is gone makes nothing; the next of that name begins anew.
        metrics.count([try Self.report(.rejected(Refusal(status: 400, reason: .badDeviceToken), deactivates: true))])
        let again = AppMetrics(app, in: registry)
        again.count([try Self.report(.accepted(uniqueID: nil))])
        let next = registry.render()
        #expect(next.contains(#"answers_total{app="shop",status="200",reason="none"} 1"#))
        #expect(!next.contains("BadDeviceToken"))
    }
}
