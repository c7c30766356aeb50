import TestTraits
import Testing

/// Tests of the events that say who did what.
@Suite(.waits) struct OperatorEventTests {
    @Test func `Each changing call leaves one event, without secrets, addresses and names of users`() async throws {
        try await PythonScene.run("operators", "each_call")
    }

    @Test func `Events of operators outlive the log, and are in a backup`() async throws {
        try await PythonScene.run("operators", "kept")
    }

    @Test func `What is done while Carillon is stopped is in the log after the next start`() async throws {
        try await PythonScene.run("operators", "while_stopped")
    }
}
