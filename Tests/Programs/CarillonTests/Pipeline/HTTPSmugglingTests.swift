import TestTraits
import Testing

/// Tests of requests that two parsers may read differently, with the whole program.
@Suite(.waits) struct HTTPSmugglingTests {
    @Test func `Nothing is read behind a request whose end is not certain`() async throws {
        try await PythonScene.run("request_smuggling", "framing")
    }

    @Test func `A path is exactly the route that it names, or is refused`() async throws {
        try await PythonScene.run("request_smuggling", "paths")
    }

    @Test func `Pages of other sites and other names for the server are refused`() async throws {
        try await PythonScene.run("request_smuggling", "other_sites")
    }
}
