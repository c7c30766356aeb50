import FoundationEssentials
import PushLoop
import ServerTestSupport
import TestSupport
import Testing

@testable import PushAPI

/// How a request finds its endpoint.
@Suite struct EndpointTableTests {
    @Test func `A word is preferred to a parameter, and an empty segment matches none`() async throws {
        try await withPipeline { scene in
            // `find` is a word below /v1/devices, beside the parameter {device}.
            let cases = [
                ("/v1/devices/find", 405), ("/v1/devices/", 404), ("/v1//devices", 404), ("//v1/devices", 404),
                ("/v1", 404), ("/v1/devices/a/b/c", 404), ("/V1/devices", 404), ("/v1/devices?limit=1", 200),
            ]
            for (path, status) in cases {
                let answer = try await scene.control.client.send("GET", to: path)
                #expect(answer.status == status, "\(path)")
            }
        }
    }

    /// A path without escapes is not decoded; both ways must find the same endpoints and parameters.
    @Test func `An escaped path finds the same endpoint as a plain one`() async throws {
        try await withPipeline { scene in
            let cases = [
                ("/v1/devices?limit=1", "/v1/%64evices?limit=1"), ("/v1/devices/find", "/v1/devices/f%69nd"),
                ("/v1/devices/", "/v1/devices%2F"), ("//v1/devices", "/%2Fv1/devices"),
                ("/v1/gateways/shop", "/v1/gateways/sh%6Fp"), ("/v1/gateways/a-b", "/v1/gateways/a%2Db"),
            ]
            for (plain, escaped) in cases {
                let statuses = [
                    try await scene.control.client.send("GET", to: plain).status,
                    try await scene.control.client.send("GET", to: escaped).status,
                ]
                #expect(statuses[0] == statuses[1], "\(plain) and \(escaped): \(statuses)")
            }
            // An encoded slash stays within its segment, which is then not an app id.
            #expect(try await scene.control.client.send("GET", to: "/v1/gateways/shop%2Fx").status == 422)
        }
    }

    @Test func `A problem is answered in its own media type`() async throws {
        try await withPipeline { scene in
            let answer = try await scene.control.client.send("GET", to: "/nothing")
            #expect(answer.headers["Content-Type"] == "application/problem+json")
            let problem = try JSONDecoder().decode(Problem.self, from: Data(answer.body))
            #expect(problem.type == "about:blank" && problem.status == 404 && problem.code == .notFound)
        }
    }

    /// The threads of requests that block: the tasks of the server need all threads of the cooperative pool.
    private static let threads = BlockingPool(name: "raw", threadCount: 1, queueLimit: 8)

    /// Sends a request, and returns everything that the server answers until it closes the connection.
    private func exchange(_ request: String, with scene: PipelineScene) async throws -> String {
        let path = scene.control.server.address
        return try await Self.threads.run {
            let raw = try RawClient(unixSocket: path)
            try raw.send(request)
            return String(decoding: try raw.rest(), as: UTF8.self)
        }
    }

    @Test func `HEAD is answered like GET, without the body`() async throws {
        try await withPipeline { scene in
            let text = try await exchange(
                "HEAD /v1/devices HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n", with: scene)
            #expect(text.hasPrefix("HTTP/1.1 200 ") && text.hasSuffix("\r\n\r\n"))
        }
    }

    @Test func `A body of another type, and one that is not expected, are rejected`() async throws {
        try await withPipeline { scene in
            let head = "HTTP/1.1\r\nHost: x\r\nConnection: close\r\nContent-Length: 2\r\n"
            let typed = try await exchange(
                "POST /v1/devices/find \(head)Content-Type: text/xml\r\n\r\n{}", with: scene)
            #expect(typed.hasPrefix("HTTP/1.1 415 "))
            let unexpected = try await exchange("GET /v1/devices \(head)\r\n{}", with: scene)
            #expect(unexpected.hasPrefix("HTTP/1.1 422 "))
        }
    }
}
