import TestTraits
import Testing

/// The sample page of Web Push, in Chromium.
@Suite(.waits) struct WebPageTests {
    @Test func `The sample page starts its service worker, and shows each message`() async throws {
        try await PythonScene.run("web_page", "messages")
    }

    @Test func `The sample page refuses wrong keys, and shows a subscription with its commands`() async throws {
        try await PythonScene.run("web_page", "subscriptions")
    }
}
