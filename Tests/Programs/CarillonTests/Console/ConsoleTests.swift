import TestTraits
import Testing

/// Tests of the operator console in Chromium, through `http.listen` and with API keys: a walk through it, rights, hostile
/// texts, and a restart; the full tour is part of `Tools/test --long`. The pictures of a run are in the folder that
/// `CARILLON_PICTURES` names, otherwise in `.build/console`.
@Suite(.waits) struct ConsoleTests {
    @Test func `Numbers move, devices and messages are found, read and changed, and a test is sent`() async throws {
        try await PythonScene.run("console_walk", "walk")
    }

    @Test func `A test whose answer is lost is sent again with its id, and arrives once`() async throws {
        try await PythonScene.run("console_outages", "lost_answer")
    }

    @Test(.long) func `A broadcast is cancelled half out, selected devices change, and the brake is released`()
        async throws
    {
        try await PythonScene.run("console_walk", "broadcast")
    }

    @Test(.long) func `Gateways are scaled and paused, and the configuration is reloaded`() async throws {
        try await PythonScene.run("console_walk", "gateways_and_reload")
    }

    @Test func `A test goes to a family, and its page has each app`() async throws {
        try await PythonScene.run("console_walk", "family")
    }

    @Test func `A Live Activity is started, updated and ended, and its states are one story`() async throws {
        try await PythonScene.run("console_walk", "activity")
    }

    @Test func `A test goes out at a local time, with words for what will happen`() async throws {
        try await PythonScene.run("console_walk", "local_time")
    }

    @Test func `The console comes back after a restart and reports an outage`() async throws {
        try await PythonScene.run("console_outages", "restart")
    }

    @Test func `The console signs requests as in the contract, and reads streams in any pieces`() async throws {
        try await PythonScene.run("console_sign_in", "signatures")
    }

    @Test func `A key is offered what it may do, and sees its apps`() async throws {
        try await PythonScene.run("console_sign_in", "roles")
    }

    @Test func `Keys are made, rotated and revoked, and the end of the own key signs out`() async throws {
        try await PythonScene.run("console_sign_in", "keys")
    }

    @Test(.long) func `A browser with a wrong clock signs with the time of the server, and says so`() async throws {
        try await PythonScene.run("console_sign_in", "wrong_clock")
    }

    @Test func `Kept keys whose tab is gone, or that are too old, are removed at the next start of the page`()
        async throws
    {
        try await PythonScene.run("console_sign_in", "old_keys")
    }

    @Test(.long) func `A kept key cannot be read, and the console works without storage`() async throws {
        try await PythonScene.run("console_sign_in", "key_storage")
    }

    @Test func `What producers and apps send is text in the console`() async throws {
        try await PythonScene.run("console_security", "hostile_names")
    }

    @Test(.long) func `The policy of the page stops inline scripts and other hosts, and its reports are seen`()
        async throws
    {
        try await PythonScene.run("console_security", "content_policy")
    }

    @Test(.long) func `A flood of events costs a bounded memory`() async throws {
        try await PythonScene.run("console_load", "event_flood")
    }

    @Test(.long) func `Many devices and messages cost what one page of them costs`() async throws {
        try await PythonScene.run("console_load", "many_devices")
    }

    @Test(.long) func `A Carillon that is busy, fails or is gone is named, and the console comes back`() async throws {
        try await PythonScene.run("console_outages", "busy_server")
    }

    @Test(.long) func `All pages of the console are accessible in both color schemes from 320 pixels on`() async throws
    {
        try await PythonScene.run("console_accessibility", "pages")
    }

    @Test(.long) func `Everything is done by keyboard`() async throws {
        try await PythonScene.run("console_accessibility", "keyboard")
    }
}
