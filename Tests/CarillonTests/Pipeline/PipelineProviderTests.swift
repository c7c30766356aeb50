import TestTraits
import Testing

/// Tests of faults of the push service, and of what an operator sees of them.
@Suite(.waits) struct PipelineProviderTests {
    @Test func `A rate limit of one device does not delay other devices`() async throws {
        try await PythonScene.run("providing", "rate_limited")
    }

    @Test func `An outage is reported with the same text everywhere and ends without a notification`() async throws {
        try await PythonScene.run("providing", "outage")
    }

    @Test func `Notifications whose streams are reset are sent again after pauses`() async throws {
        try await PythonScene.run("providing", "unanswered")
    }

    @Test func `A key that the push service refuses is reported at once`() async throws {
        try await PythonScene.run("providing", "wrong_key")
    }

    @Test func `SIGTERM ends at once if nothing is in flight`() async throws {
        try await PythonScene.run("providing", "cut_off")
    }

    @Test func `A 410 that does not deactivate a device is logged with its reason`() async throws {
        try await PythonScene.run("providing", "alive_after_all")
    }

    @Test func `1700 apps are served, measured, reloaded and stopped`() async throws {
        try await PythonScene.run("providing", "many_apps")
    }
}
