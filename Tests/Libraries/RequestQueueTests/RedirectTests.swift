import Foundation
import TestSupport
import TestTraits
import Testing

@testable import RequestQueue

/// Redirects: the rules, and real ones.
@Suite(.waits) struct RedirectTests {
    private func decide(
        _ status: Int, _ location: String?, from url: String = "https://a.example/x/y?q", method: HTTPMethod = .get,
        hops: Int = 0, rule: RedirectRule = .standard
    ) throws -> Redirect {
        Redirect.decide(
            status: status, location: location, from: try #require(URL(string: url)), method: method, hops: hops,
            rule: rule)
    }

    private func step(_ redirect: Redirect) throws -> Redirect.Step {
        guard case .follow(let step) = redirect else { throw CocoaError(.coderInvalidValue) }
        return step
    }

    @Test(
        arguments: [
            (301, .post, .get, true), (302, .post, .get, true), (303, .post, .get, true), (303, .put, .get, true),
            (301, .put, .put, false), (307, .post, .post, false), (308, .delete, .delete, false),
            (303, .head, .head, false),
        ] as [(Int, HTTPMethod, HTTPMethod, Bool)])
    func `Method and body follow the status`(_ status: Int, _ from: HTTPMethod, _ to: HTTPMethod, _ drops: Bool) throws
    {
        let step = try step(decide(status, "/z", method: from))
        #expect(step.method == to && step.dropsBody == drops)
    }

    @Test(
        arguments: [
            ("z", "https://a.example/x/z", false), ("/z?a=b#c", "https://a.example/z?a=b", false),
            ("?n", "https://a.example/x/y?n", false), ("//b.example/z", "https://b.example/z", true),
            ("https://A.EXAMPLE:443/z", "https://A.EXAMPLE:443/z", false),
            ("https://a.example:444/", "https://a.example:444/", true),
            ("https://u:p@b.example/", "https://b.example/", true),
        ])
    func `Locations are resolved, and other origins lose credentials`(
        _ location: String, _ url: String, _ drops: Bool
    ) throws {
        let step = try step(decide(302, location))
        #expect(step.url.absoluteString == url && step.dropsCredentials == drops)
    }

    @Test(arguments: ["http://a.example/", "ftp://a.example/", "javascript:x", "https:", "mailto:a@b", "https://[::1"])
    func `Other schemes and insecure targets are refused`(_ location: String) throws {
        guard case .refuse(let error) = try decide(302, location) else {
            Issue.record("\(location) is followed")
            return
        }
        #expect(error.code == .redirectRefused)
    }

    @Test func `Statuses without a redirect and rules without hops deliver the response`() throws {
        #expect(try decide(302, nil) == .none && decide(304, "/z") == .none && decide(300, "/z") == .none)
        #expect(try decide(302, "/z", rule: .never) == .none)
    }

    @Test func `A ring ends at the limit`() async throws {
        let server = try await FaultServer()
        do {
            _ = try await RequestQueue().send(.get(server.url("/ring/0")))
            Issue.record("the ring has an end")
        } catch let error as RequestError {
            #expect(error.code == .tooManyRedirects)
        }
    }

    @Test(arguments: [302, 303, 307, 308]) func `A body is sent again where the rule keeps it`(_ status: Int)
        async throws
    {
        let server = try await FaultServer()
        let request = Request.post(
            try server.url("/hop/3", ["status": "\(status)"]),
            body: .data(Data("hello".utf8), contentType: "text/plain"))
        let response = try await RequestQueue().send(request)
        let echo: Echo = try response.decoded()
        #expect(response.redirects == 3 && response.url.path == "/hop/0")
        #expect(echo.method == (status < 307 ? "GET" : "POST") && echo.body == (status < 307 ? "" : "hello"))
        #expect(echo.fields["content-type"] == (status < 307 ? nil : "text/plain"))
    }

    @Test func `Credentials stay at their origin, even after the way back`() async throws {
        let (server, other) = (try await FaultServer(), try await FaultServer())
        let back = try server.url("/echo").absoluteString
        let there = try other.url("/to", ["url": back]).absoluteString
        var request = Request.get(try server.url("/to", ["url": there]))
        request.fields = ["Authorization": "Bearer x", "X-Api-Key": "k", "Cookie": "c", "X-Other": "o"]
        let echo: Echo = try await RequestQueue().send(request).decoded()
        #expect(echo.fields["authorization"] == nil && echo.fields["x-api-key"] == nil && echo.fields["cookie"] == nil)
        #expect(echo.fields["x-other"] == "o")
        request.url = try server.url("/to", ["url": "/echo"])
        let same: Echo = try await RequestQueue().send(request).decoded()
        #expect(same.fields["authorization"] == "Bearer x")
    }
}
