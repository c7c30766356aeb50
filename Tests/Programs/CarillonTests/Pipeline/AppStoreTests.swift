import TestTraits
import Testing

/// Tests of notifications and receipts of the App Store, with the whole program and the simulated store.
@Suite(.waits) struct AppStoreTests {
    @Test func `A notification of the App Store becomes one event, also after a kill`() async throws {
        try await PythonScene.run("app_store", "notifications")
    }

    @Test func `What the App Store did not sign is refused, and a flood of it is limited`() async throws {
        try await PythonScene.run("app_store", "forged_notifications")
    }

    @Test func `A flood from the address of the App Store does not stop its notifications`() async throws {
        try await PythonScene.run("app_store", "flood")
    }

    @Test func `A backend learns whether a purchase is genuine`() async throws {
        try await PythonScene.run("app_store", "receipts")
    }

    @Test func `Apps and roots of the App Store are those of the configuration in force`() async throws {
        try await PythonScene.run("app_store", "reload")
    }
}
