import TestTraits
import Testing

/// Tests of callers with keys, and of those that pretend to have one, with the whole program.
@Suite(.waits) struct HTTPAccessTests {
    @Test func `Signatures that are almost right are refused, and one that is right is accepted once`() async throws {
        try await PythonScene.run("request_signatures", "forged_signatures")
    }

    @Test func `Of many copies of a signed request, one is accepted, also across a kill`() async throws {
        try await PythonScene.run("request_signatures", "copied_requests")
    }

    @Test func `Open connections and streams end with the rights of their key`() async throws {
        try await PythonScene.run("api_key_limits", "revoked_keys")
    }

    @Test func `A key has its addresses and its rate, and a flood of it slows down no other`() async throws {
        try await PythonScene.run("api_key_limits", "addresses_and_rates")
    }

    @Test func `Refusals are counted by reason, and logged without secrets and floods`() async throws {
        try await PythonScene.run("request_signatures", "refusal_counts")
    }

    @Test func `Each route gives each role and app exactly what it declares`() async throws {
        try await PythonScene.run("api_key_rights", "route_matrix")
    }

    @Test func `Each route has the methods that it declares, and HEAD where it has GET`() async throws {
        try await PythonScene.run("api_key_rights", "methods")
    }

    @Test func `A live stream of a key has the events of its apps only`() async throws {
        try await PythonScene.run("api_key_rights", "event_streams")
    }
}
