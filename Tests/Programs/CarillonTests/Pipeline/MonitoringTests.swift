import TestTraits
import Testing

/// Tests of metrics and health checks with a real process, and of the dashboard and rules in `Config/monitoring`.
@Suite(.waits) struct MonitoringTests {
    @Test func `The metrics are valid and documented, and the dashboard and rules use no others`() async throws {
        try await PythonScene.run("monitoring", "metric_names")
    }

    @Test func `The rules pass their tests, and the queries of the dashboard are valid`() async throws {
        try await PythonScene.run("monitoring", "alert_rules")
    }

    @Test func `A reader of the log that stalls stops nothing`() async throws {
        try await PythonScene.run("monitoring", "stalled_log_reader")
    }

    @Test func `The age of what waits is shown by app, and an app is judged alone`() async throws {
        try await PythonScene.run("monitoring", "backlog_age")
    }

    @Test func `The series of a removed app end, and no counter decreases`() async throws {
        try await PythonScene.run("monitoring", "removed_app")
    }

    @Test func `While the disk hangs, health checks and metrics answer and show it`() async throws {
        try await PythonScene.run("monitoring", "hanging_disk")
    }
}
