import PushLoop
import PushModel
import Testing

@testable import PushServer

@Suite struct ServerMetricsTests {
    @Test func `Each kind of refused connection has a series`() {
        let registry = MetricsRegistry()
        let metrics = PipelineMetrics(in: registry)
        let page = withExtendedLifetime(metrics) { registry.render() }
        let series = page.split(separator: "\n").filter { $0.hasPrefix("carillon_refused_connections_total{") }
        #expect(series.filter { $0.contains("malformed") }.count == 5)
        #expect(series.contains { $0.contains(#"kind="unknown",reason="malformed""#) }, "\(series)")
        #expect(series.contains { $0.contains(#"kind="intake.router",reason="unknown_key""#) }, "\(series)")
    }

    private static func report(_ outcome: DeliveryOutcome) throws -> DeliveryReport {
        let message = Message(id: try #require(MessageID("m")), app: try #require(AppID("shop")), payload: [])
        return DeliveryReport(
            of:
                Delivery(
                    ticket: 1, message: message, token: Address(words: (1, 2, 3, 4)),
                    deliveryID: DeliveryID(high: 1, low: 2)),
            outcome, latency: .milliseconds(3))
    }

    @Test func `The number of series is bounded for any number of apps and answers`() throws {
        let registry = MetricsRegistry(maxSeries: 2000)
        ProcessMetrics.register(in: registry)
        let table = GatewayMetrics(in: registry) { nil }
        var rows: [GatewayMetrics.Row] = []
        let running = try ServedStatus.sample(.running, open: 1)
        for number in 0..<3000 {
            let metrics = AppMetrics(try #require(AppID("app\(number)")), reasons: .apns, in: registry)
            rows.append(GatewayMetrics.Row(status: running, credential: metrics.credential))
            // An app without events does not create series.
            if number % 100 != 0 { continue }
            var reports: [DeliveryReport] = []
            for status in 400...510 {
                for known in ReasonTable.apns.all {
                    let refusal = Refusal(status: status, reason: known.reason)
                    reports.append(try Self.report(.rejected(refusal, deactivates: nil)))
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

    @Test func `Answers are counted under closed sets, and their series are removed with the app`() throws {
        let registry = MetricsRegistry()
        let app = try #require(AppID("shop"))
        let metrics = AppMetrics(app, reasons: .apns, in: registry)
        var reports = try (0..<3).map { _ in try Self.report(.sent(providerID: nil)) }
        for word in ["Unregistered", "NotOnSundays", "NorOnMondays"] {
            let refusal = Refusal(status: word == "Unregistered" ? 410 : 499, reason: ProviderReason(rawValue: word))
            reports.append(try Self.report(.rejected(refusal, deactivates: nil)))
        }
        // A retry without a response.
        reports.append(try Self.report(.retry(Refusal(status: 0, reason: nil), after: .zero)))
        reports.append(try Self.report(.unknown(.timeout, isFinal: false)))
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
        // A late report of the removed app creates no series, and a new app of that name starts with new counters.
        let refusal = Refusal(status: 400, reason: "BadDeviceToken")
        metrics.count([try Self.report(.rejected(refusal, deactivates: .misdirected))])
        let again = AppMetrics(app, reasons: .apns, in: registry)
        again.count([try Self.report(.sent(providerID: nil))])
        let next = registry.render()
        #expect(next.contains(#"answers_total{app="shop",status="200",reason="none"} 1"#))
        #expect(!next.contains("BadDeviceToken"))
    }
}
