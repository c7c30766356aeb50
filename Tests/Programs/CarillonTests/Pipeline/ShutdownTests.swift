import TestTraits
import Testing

/// Tests of stops and restarts.
@Suite(.waits) struct ShutdownTests {
    @Test func `SIGTERM under load causes no loss and no duplicates`() async throws {
        try await PythonScene.run("shutdown", "drain")
    }

    @Test func `A second SIGTERM ends the process at once`() async throws {
        try await PythonScene.run("shutdown", "second_sigterm")
    }

    @Test func `A drain that times out logs the unanswered deliveries, and so does the next start`() async throws {
        try await PythonScene.run("shutdown", "drain_timeout")
    }

    @Test func `SIGTERM ends at once if nothing is in flight`() async throws {
        try await PythonScene.run("shutdown", "during_outage")
    }
}
