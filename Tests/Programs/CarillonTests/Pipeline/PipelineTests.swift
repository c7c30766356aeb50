import TestTraits
import Testing

/// Tests of the whole pipeline with producers, devices and monitors, without faults.
@Suite(.waits) struct PipelineTests {
    @Test func `All intake sockets accept messages, and monitors receive all outcomes`() async throws {
        try await PythonScene.run("intake_and_events", "every_socket")
    }

    @Test func `A message id identifies one message, also after a restart and a kill`() async throws {
        try await PythonScene.run("intake_and_events", "message_ids")
    }

    @Test func `Published and replayed events are equal, and each names its predecessor`() async throws {
        try await PythonScene.run("intake_and_events", "event_chains")
    }

    @Test func `Devices are reached by user, tag, id and all`() async throws {
        try await PythonScene.run("devices", "audiences")
    }

    @Test func `A message reaches the addresses of its kind`() async throws {
        try await PythonScene.run("devices", "address_kinds")
    }

    @Test func `An unregistered device is suppressed until it registers again`() async throws {
        try await PythonScene.run("devices", "unregistered_device")
    }

    @Test func `What is exported is imported again, at all push services`() async throws {
        try await PythonScene.run("devices", "transfer")
    }

    @Test func `A flood of bad tokens pauses the deactivation of devices`() async throws {
        try await PythonScene.run("devices", "bad_token_brake")
    }

    @Test func `Scheduled messages are not sent early, and expired messages are not sent`() async throws {
        try await PythonScene.run("scheduled_messages", "scheduled_and_expired")
    }

    @Test func `After the erasure of a user, only the past of the log has the name, and nothing goes out to it`()
        async throws
    {
        try await PythonScene.run("erase", "erased_user")
    }

    @Test func `Messages in memory and waiting attempts lose an erased user`() async throws {
        try await PythonScene.run("erase", "erased_while_messages_are_in_memory")
    }

    @Test func `What waits for a user does not go to the next user of the phone`() async throws {
        try await PythonScene.run("erase", "next_owner")
    }

    @Test func `An erasure that failed is recorded, and repeating it loses no outcome`() async throws {
        try await PythonScene.run("erase", "erasure_cut_off")
    }

    @Test func `An erasure that a kill has cut off is recorded, and can be ended`() async throws {
        try await PythonScene.run("erase", "killed_erasure")
    }

    @Test func `With CURVE, each client has exactly its rights as of the last reload`() async throws {
        try await PythonScene.run("curve_security", "client_rights")
    }

    @Test func `A reload removes rights from existing connections without waiting for credentials`() async throws {
        try await PythonScene.run("curve_security", "revoked_keys")
    }

    @Test func `A reload ends a live subscription, also if the replay socket is off or has no keys`() async throws {
        try await PythonScene.run("curve_security", "revoked_subscription")
    }

    @Test func `The memory of a process with keys is not dumped`() async throws {
        try await PythonScene.run("curve_security", "core_dumps")
    }

    @Test func `An app at its limit is busy, and other apps are not affected`() async throws {
        try await PythonScene.run("message_limits", "app_backlog")
    }

    @Test func `The examples work together, and a stopped subscriber misses no events`() async throws {
        try await PythonScene.run("examples", "push_and_subscribe")
    }

    @Test func `The examples with curl register a device and push to it`() async throws {
        try await PythonScene.run("examples", "registration")
    }
}
