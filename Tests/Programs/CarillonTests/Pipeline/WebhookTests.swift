import TestTraits
import Testing

/// Events over HTTP, to receivers that fail in every way, while the process is killed.
@Suite(.waits) struct WebhookTests {
    @Test func `Each receiver gets every event in order, whatever the others do, and across kills`() async throws {
        try await PythonScene.run("webhooks", "deliveries")
    }

    @Test func `A webhook is disabled, paused, resumed, moved and tested, and reloaded`() async throws {
        try await PythonScene.run("webhooks", "operation")
    }

    @Test func `A reload applies each webhook by itself, and says which one it could not`() async throws {
        try await PythonScene.run("webhooks", "refused")
    }

    @Test func `A new receiver gets what it is configured for, whatever the earlier one answers`() async throws {
        try await PythonScene.run("webhooks", "changed")
    }

    @Test func `A webhook whose position cannot be read says so, and goes on with everything`() async throws {
        try await PythonScene.run("webhooks", "damaged")
    }

    @Test func `A pause and a move outlive a kill right after their answers`() async throws {
        try await PythonScene.run("webhooks", "kept")
    }

    @Test func `A hostile receiver costs its time-out at most, and no request goes where it must not`() async throws {
        try await PythonScene.run("webhooks", "hostile")
    }
}
