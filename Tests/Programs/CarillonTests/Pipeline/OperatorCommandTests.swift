import TestTraits
import Testing

/// Tests of what operators use: log lines, queries, tables and `check`.
@Suite(.waits) struct OperatorCommandTests {
    @Test func `A start, a crash and a drain are logged, and a JSON log contains nothing else`() async throws {
        try await PythonScene.run("command_line", "log_lines")
    }

    @Test func `The options --follow and --watch continue after a restart`() async throws {
        try await PythonScene.run("command_line", "restart")
    }

    @Test func `No table is wider than the terminal`() async throws {
        try await PythonScene.run("command_line", "narrow_terminal")
    }

    @Test func `A message shows its audience and is found by id, apns-id, user and time`() async throws {
        try await PythonScene.run("command_line", "message_queries")
    }

    @Test func `The verbs check and serve report the same faults with the same exit code`() async throws {
        try await PythonScene.run("command_line", "check_faults")
    }
}
