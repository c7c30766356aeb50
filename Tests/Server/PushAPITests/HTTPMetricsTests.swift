import PushLoop
import PushModel
import TestSupport
import Testing

@testable import PushAPI

@Suite struct HTTPMetricsTests {
    @Test func `Requests are counted by route, method and status`() {
        let registry = MetricsRegistry()
        let metrics = HTTPMetrics(["/readyz", "/v1/gateways/{app}", "/readyz"], in: registry)
        let ready = metrics.route("/readyz")
        for _ in 0..<3 { metrics.record(ready, method: "GET", status: 200, time: .milliseconds(2)) }
        metrics.record(ready, method: "GET", status: 503, time: .milliseconds(2))
        metrics.record(metrics.route("/v1/gateways/{app}"), method: "PUT", status: 200, time: .milliseconds(250))
        let page = registry.render()
        for line in [
            #"carillon_http_requests_total{route="/readyz",method="GET",status="200"} 3"#,
            #"carillon_http_requests_total{route="/readyz",method="GET",status="503"} 1"#,
            #"carillon_http_requests_total{route="/v1/gateways/{app}",method="PUT",status="200"} 1"#,
            #"carillon_http_request_seconds_count{route="/readyz"} 4"#,
            #"carillon_http_request_seconds_sum{route="/v1/gateways/{app}"} 0.25"#,
        ] {
            #expect(page.contains(line + "\n"), "\(line)")
        }
    }

    @Test func `No request creates a series outside of the closed sets`() {
        let registry = MetricsRegistry()
        let metrics = HTTPMetrics(["/readyz"], in: registry)
        for number in 0..<2000 {
            metrics.record(
                metrics.route("/\(number)"), method: "BREW\(number)", status: number - 500,
                time: .seconds(number - 1000))
        }
        metrics.record(metrics.route("/readyz"), method: "", status: .max, time: .zero)
        let other = HTTPMetrics(["/a", "/b", "/c"], in: MetricsRegistry()).route("/c")
        metrics.record(other, method: "GET", status: .min, time: .seconds(Int64.max / 2))
        let lines = registry.render().split(separator: "\n").filter { $0.hasPrefix("carillon_http_requests_total{") }
        #expect(lines.count <= 2 * 6 * 25)
        #expect(lines.allSatisfy { $0.contains(#"route="none",method="other""#) || $0.contains(#"route="/readyz""#) })
    }

    @Test func `A server counts what it answers, with the pattern of the route and not the path`() async throws {
        let directory = try TemporaryDirectory()
        let loop = EventLoop(name: "counted")
        let registry = MetricsRegistry()
        let endpoints = [AnyEndpoint(ThingEndpoint()), AnyEndpoint(now: BrokenEndpoint())]
        let server = try await APIServer(
            at: .socket(path: "\(directory.path)/\(ControlSocket.fileName)"), on: loop, limits: .controlSocket,
            table: EndpointTable(endpoints), access: ControlAccess(),
            metrics: HTTPMetrics(endpoints.map(\.operation.path), in: registry))
        let client = APIClient(dataDirectory: directory.path)
        for (method, path) in [
            ("GET", "/v1/things/a"), ("GET", "/v1/things/b"), ("PUT", "/v1/things/c"), ("GET", "/v1/broken"),
            ("GET", "/v1/nothing"), ("GET", "/"),
        ] {
            _ = try? await client.send(method, to: path)
        }
        let lines = registry.render().split(separator: "\n").filter { $0.hasPrefix("carillon_http_requests_total{") }
        #expect(
            lines.sorted() == [
                #"carillon_http_requests_total{route="/v1/broken",method="GET",status="503"} 1"#,
                #"carillon_http_requests_total{route="/v1/things/{thing}",method="GET",status="200"} 2"#,
                #"carillon_http_requests_total{route="none",method="GET",status="404"} 2"#,
                #"carillon_http_requests_total{route="none",method="PUT",status="405"} 1"#,
            ])
        await server.stop()
        await loop.shutDown()
    }

    @Test func `One app can be judged alone`() {
        let both = Readiness([.init(app: "shop", obstacle: nil), .init(app: "news", obstacle: "halted")])
        #expect(!both.ready && both.alone("shop")?.ready == true && both.alone("news")?.ready == false)
        #expect(both.alone("shop")?.apps.map(\.app) == ["shop"])
        #expect(both.alone("sho") == nil && both.alone("") == nil)
        // What all apps share counts for each of them.
        let full = Readiness([.init(app: "shop", obstacle: nil)], obstacle: "the disk is full")
        #expect(full.alone("shop")?.ready == false && full.alone("shop")?.reason == "the disk is full")
    }
}

private struct ThingEndpoint: Endpoint {
    struct Input: EndpointInput {
        let thing: String

        init(_ read: inout InputReader) {
            thing = read.path("thing", as: .text(1...9), about: "The thing.")
        }
    }

    static let operation = Operation(
        .get, at: "/v1/things/{thing}", id: "getThing", access: .open, subject: "Test", summary: "Answers.")

    func answer(_ input: Input, for caller: Caller) async -> Reply<RemovalAnswer> {
        Reply(RemovalAnswer(id: input.thing, removed: true))
    }
}

private struct BrokenEndpoint: ImmediateEndpoint {
    static let operation = Operation(
        .get, at: "/v1/broken", id: "fail", access: .open, subject: "Test", summary: "Fails.")

    func answerNow(_ input: NoInput, for caller: Caller) throws -> Reply<RemovalAnswer> {
        throw Problem(.unavailable, detail: "later")
    }
}
