import TestTraits
import Testing

/// Web Push from the registration of a subscription to the text in the browser.
@Suite(.waits) struct WebPushTests {
    @Test("Each subscription gets its text once, and one that has ended is deactivated, also after a kill")
    func fates() async throws {
        try await PythonScene.run("web_push", "fates")
    }
}
