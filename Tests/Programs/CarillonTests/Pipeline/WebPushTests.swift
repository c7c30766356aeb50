import TestTraits
import Testing

/// Web Push from the registration of a subscription to the text in the browser, and FCM with faults.
@Suite(.waits) struct WebPushTests {
    @Test("Each subscription gets its text once, and one that has ended is deactivated, also after a kill")
    func fates() async throws {
        try await PythonScene.run("web_push", "fates")
    }

    @Test("Push services that fail, are slow or cannot be found do not keep the others from theirs, also over a stop")
    func origins() async throws {
        try await PythonScene.run("web_push", "origins")
    }

    @Test("A push service of browsers that cannot be reached is told with the cause, and a reset as one")
    func outages() async throws {
        try await PythonScene.run("web_push", "outages")
    }

    @Test("While the VAPID key of an app changes, each subscription is sent with its own")
    func keys() async throws {
        try await PythonScene.run("web_push", "keys")
    }

    @Test("FCM that fails in every way loses no message and ends no device that lives")
    func fcm() async throws {
        try await PythonScene.run("fcm_faults", "faults")
    }
}
