import FoundationEssentials
import ServerTestSupport
import Testing

@testable import PushAdmin

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

    @Test func `A problem is answered in its own media type`() async throws {
        try await withPipeline { scene in
            let answer = try await scene.control.client.send("GET", to: "/nothing")
            #expect(answer.headers["Content-Type"] == "application/problem+json")
            let problem = try JSONDecoder().decode(Problem.self, from: Data(answer.body))
            #expect(problem.type == "about:blank" && problem.status == 404 && problem.code == .notFound)
        }
    }

    @Test func `HEAD is answered like GET, without the body`() async throws {
        try await withPipeline { scene in
            let raw = try scene.control.raw()
            try raw.send("HEAD /v1/devices HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")
            let text = String(decoding: try raw.rest(), as: UTF8.self)
            #expect(text.hasPrefix("HTTP/1.1 200 ") && text.hasSuffix("\r\n\r\n"))
        }
    }

    @Test func `A body of another type is rejected`() async throws {
        try await withPipeline { scene in
            let raw = try scene.control.raw()
            try raw.send(
                "POST /v1/devices/find HTTP/1.1\r\nHost: x\r\nContent-Type: text/xml\r\nContent-Length: 2\r\n\r\n{}")
            #expect(try raw.answer().status == 415)
            let other = try scene.control.raw()
            try other.send("GET /v1/devices HTTP/1.1\r\nHost: x\r\nContent-Length: 2\r\n\r\n{}")
            #expect(try other.answer().status == 422)
        }
    }
}
