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
        // Keys are asked for on TCP alone, and `events.publish` is on TCP here.
        ("ipc://replay.sock", "curve: { secret_key_file: 's.curve' }", true),
        ("off", "curve: { secret_key_file: 's.curve' }", true),
    ])
    func `observers are known by their keys where there are keys, wherever the replay socket is`(
        replay: String, curve: String, isNamed: Bool
    ) throws {
        let key = "rq:rM>}U?@Lns47E1%kR.o@n%FcmmsL/@{H8]yf7"
        let clients = "clients: { grafana: { public_key: '\(key)', observe: true } }"
        let security = curve.isEmpty ? "" : "security: { \(curve), \(clients) },"
        let parsed = try parseConfiguration("{ events: { replay: '\(replay)' }, \(security) \(minimalApp) }")
        #expect(parsed.configuration.observers == (isNamed ? .withKeys([key]) : .everybody))
    }

    // MARK: Readiness

    private static func served(
        _ state: GatewayStatus.State?, open: Int = 0, failed: Int = 0, fault: String? = nil,
        connection: ConnectionFault? = nil, hasBeenUp: Bool = false
    ) throws -> ServedStatus {
        let app = try #require(try parseConfiguration("{ \(minimalApp) }").configuration.apps.first)
        let connections = (0..<open).map { ConnectionStatus(id: ConnectionID(UInt32($0)), state: .open, age: .zero) }
        var status = state.map {
            GatewayStatus(
                app: app.id, state: $0, queue: 0, outstanding: 0, credit: 0, minimum: 1, maximum: 4, wanted: 1,
                failedConnectsInARow: failed, counts: GatewayCounts(), connections: connections)
        }
        status?.fault = connection
        status?.hasBeenUp = hasBeenUp
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
        // A push that comes now is the probe.
        #expect(try Self.served(.probing, open: 1).obstacle == nil)
        #expect(try Self.served(.probing).obstacle?.hasPrefix("probing") == true)
        // A connection that ended as it should is replaced before anybody misses it.
        #expect(try Self.served(.running, hasBeenUp: true).obstacle == nil)
        #expect(Readiness([table[0].0]).ready)
        #expect(!Readiness([table[0].0, table[1].0]).ready)
        #expect(!Readiness([]).ready)
    }

    @Test func `why there is no connection is told in the same words everywhere`() throws {
        let fault = ConnectionFault(.refused, "cannot connect to 192.0.2.1:443: nothing listens there")
        let connecting = try Self.served(.running, failed: 2, connection: fault, hasBeenUp: true)
        #expect(
            connecting.obstacle == "no connection is open; 2 attempts in a row failed: \(fault.sentence)")
        let paused = try Self.served(
            .paused(for: .seconds(9), .unreachable(attempts: 5)), failed: 5, connection: fault)
        #expect(paused.obstacle == "\(paused.state): \(fault.sentence)")
        // One whose credential was refused has not failed to connect, and yet has nothing to send on.
        let refused = ConnectionFault(refused: Refusal(status: 403, reason: .invalidProviderToken))
        let disbelieved = try Self.served(.running, connection: refused, hasBeenUp: true)
        #expect(disbelieved.obstacle == "no connection is open: \(refused.sentence)")
        #expect(refused.sentence.contains("403 InvalidProviderToken") && refused.word == "InvalidProviderToken")
        for status in [connecting, paused, disbelieved] {
            let told = try #require(status.connectionFault)
            let answer = GatewayAnswer(status)
            #expect(answer.fault?.message == told.sentence && answer.fault?.code == told.code.rawValue)
            let ready = Readiness([status]).apps[0]
            #expect(ready.code == told.code.rawValue && ready.reason?.hasSuffix(told.sentence) == true)
            #expect(GatewayTable(.output).text([answer]).contains(told.sentence))
            let event = GatewayEvent.down(
                ConnectionID(1), address: nil, ConnectionEnd(.byUs, told), age: .zero, answered: 0)
            let draft = try #require(event.draft(of: status.app.id))
            #expect(draft.reason == told.word)
        }
        // Where one is open, nothing keeps a push.
        let open = try Self.served(.running, open: 1, failed: 2, connection: fault)
        #expect(open.obstacle == nil && open.connectionFault == nil && GatewayAnswer(open).fault == nil)
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

    // MARK: What is left

    @Test(
        arguments: [
            (0, 0, nil, nil), (1, 0, nil, "1 message waited for this start"),
            (2, 3, nil, "2 messages waited for this start, 3 messages have a time to come"),
            (0, 1, nil, "1 message has a time to come"),
            (
                311, 1, RunMark.Remains(mostInFlight: 2000),
                "recovered 312 messages after a crash, up to 2000 deliveries may arrive twice"
            ),
            (
                1, 0, RunMark.Remains(mostInFlight: 1, wasStopped: true),
                "recovered 1 message after a stop that did not wait for all answers, up to 1 delivery may arrive twice"
            ),
            (
                0, 0, RunMark.Remains(mostInFlight: nil),
                "recovered 0 messages after a crash, an unknown number of deliveries may arrive twice"
            ),
            (3, 0, RunMark.Remains(mostInFlight: 0), "recovered 3 messages after a crash, no delivery arrives twice"),
        ] as [(Int, Int, RunMark.Remains?, String?)])
    func `a start says what the run before it left`(
        waiting: Int, scheduled: Int, remains: RunMark.Remains?, sentence: String?
    ) {
        #expect(ResumeWords(waiting: waiting, scheduled: scheduled, remains: remains).sentence == sentence)
    }

    @Test func `a mark says how much was unanswered, and whether the run was told to stop`() throws {
        let mark = RunMark(directory: try TemporaryDirectory().path)
        #expect(mark.remains() == nil)
        let directory = try TemporaryDirectory()
        let kept = RunMark(directory: directory.path)
        kept.write(mostInFlight: 7)
        #expect(kept.remains() == RunMark.Remains(mostInFlight: 7))
        kept.write(mostInFlight: 2, wasStopped: true)
        #expect(kept.remains() == RunMark.Remains(mostInFlight: 2, wasStopped: true))
        kept.remove()
        #expect(kept.remains() == nil)
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

    @Test func `every refusal that can be counted has its series`() {
        let registry = MetricsRegistry()
        let metrics = PipelineMetrics(in: registry)
        let page = withExtendedLifetime(metrics) { registry.render() }
        let series = page.split(separator: "\n").filter { $0.hasPrefix("carillon_refused_connections_total{") }
        #expect(series.filter { $0.contains("malformed") }.count == 1)
        #expect(series.contains { $0.contains(#"kind="unknown",reason="malformed""#) }, "\(series)")
        #expect(series.contains { $0.contains(#"kind="intake.router",reason="unknown_key""#) }, "\(series)")
    }

    private static func report(_ outcome: DeliveryOutcome) throws -> DeliveryReport {
        let message = Message(id: try #require(MessageID("m")), app: try #require(AppID("shop")), payload: [])
        return DeliveryReport(
            Delivery(
                ticket: 1, message: message, token: DeviceToken(words: (1, 2, 3, 4)), apnsID: APNSID(high: 1, low: 2)),
            outcome, latency: .milliseconds(3))
    }

    @Test func `no number of apps, and no answers of a push service, are too much`() throws {
        let registry = MetricsRegistry(maximumSeries: 2000)
        ProcessMetrics.register(in: registry)
        let table = GatewayMetrics(in: registry)
        var rows: [GatewayMetrics.Row] = []
        let running = try Self.served(.running, open: 1)
        for number in 0..<3000 {
            let metrics = AppMetrics(try #require(AppID("app\(number)")), in: registry)
            rows.append(GatewayMetrics.Row(status: running, credential: metrics.credential))
            // What nothing happens to costs nothing.
            if number % 100 != 0 { continue }
            var reports: [DeliveryReport] = []
            for status in 400...510 {
                for known in KnownReason.all {
                    let refusal = Refusal(status: status, reason: known.reason)
                    reports.append(try Self.report(.rejected(refusal, deactivates: false)))
                }
            }
            metrics.count(reports)
        }
        table.update(rows)
        let page = registry.render().split(separator: "\n")
        #expect(page.count { $0.hasPrefix("carillon_gateway_state{") } == 6 * 3000)
        let answers = page.count { $0.hasPrefix("carillon_answers_total{app=\"app0\"") }
        #expect(answers < 70 && answers > 30, "\(answers)")
        #expect(page.count { $0.hasPrefix("carillon_answers_total{") } <= 2000)
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
