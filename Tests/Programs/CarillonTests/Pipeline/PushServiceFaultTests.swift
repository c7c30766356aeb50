import TestTraits
import Testing

/// Tests of faults of the push service, and of what an operator sees of them.
@Suite(.waits) struct PushServiceFaultTests {
    @Test func `A rate limit of one device does not delay other devices`() async throws {
        try await PythonScene.run("push_service_faults", "rate_limit")
    }

    @Test func `An outage is reported with the same text everywhere and ends without a notification`() async throws {
        try await PythonScene.run("push_service_faults", "outage")
    }

    @Test func `Notifications whose streams are reset are sent again after pauses`() async throws {
        try await PythonScene.run("push_service_faults", "reset_streams")
    }

    @Test func `A 410 that does not deactivate a device is logged with its reason`() async throws {
        try await PythonScene.run("push_service_faults", "stale_unregistered")
    }

    @Test func `1700 apps are served, measured, reloaded and stopped`() async throws {
        try await PythonScene.run("push_service_faults", "many_apps")
    }

    @Test func `Messages accepted during an outage are delivered once after it`() async throws {
        try await PythonScene.run("push_service_faults", "messages_during_outage")
    }

    @Test func `A missing response is reported, and the message decides about a retry`() async throws {
        try await PythonScene.run("push_service_faults", "missing_response")
    }

    @Test func `A short shutdown of the push service is retried soon`() async throws {
        try await PythonScene.run("push_service_faults", "server_shutdown")
    }
}
