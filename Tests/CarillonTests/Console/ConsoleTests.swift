import TestTraits
import Testing

/// Tests of the operator console in Chromium, through `http.listen` and with API keys: a walk through it, rights, hostile
/// texts, and a restart; the full tour is part of `Tools/test --long`. The pictures of a run are in the folder that
/// `CARILLON_PICTURES` names, otherwise in `.build/console`.
@Suite(.waits) struct ConsoleTests {
    @Test func `Numbers move, devices and messages are found, read and changed, and a test is sent`() async throws {
        try await PythonScene.run("viewing", "walk")
    }

    @Test func `A test whose answer is lost is sent again with its id, and arrives once`() async throws {
        try await PythonScene.run("viewing", "lost")
    }

    @Test(.long) func `A broadcast is cancelled half out, selected devices change, and the brake is released`()
        async throws
    {
        try await PythonScene.run("viewing", "broadcast")
    }

    @Test(.long) func `Gateways are scaled and paused, and the configuration is reloaded`() async throws {
        try await PythonScene.run("viewing", "running")
    }

    @Test func `The console comes back after a restart and reports an outage`() async throws {
        try await PythonScene.run("viewing", "restart")
    }

    @Test func `The console signs requests as in the contract, and reads streams in any pieces`() async throws {
        try await PythonScene.run("admitting", "signing")
    }

    @Test func `A key is offered what it may do, and sees its apps`() async throws {
        try await PythonScene.run("admitting", "roles")
    }

    @Test func `Keys are made, rotated and revoked, and the end of the own key signs out`() async throws {
        try await PythonScene.run("admitting", "keys")
    }

    @Test(.long) func `A browser with a wrong clock signs with the time of the server, and says so`() async throws {
        try await PythonScene.run("admitting", "clocks")
    }

    @Test func `Kept keys whose tab is gone, or that are too old, are removed at the next start of the page`()
        async throws
    {
        try await PythonScene.run("admitting", "kept")
    }

    @Test(.long) func `A kept key cannot be read, and the console works without storage`() async throws {
        try await PythonScene.run("admitting", "storage")
    }

    @Test func `What producers and apps send is text in the console`() async throws {
        try await PythonScene.run("disturbing", "hostile")
    }

    @Test(.long) func `The policy of the page stops inline scripts and other hosts, and its reports are seen`()
        async throws
    {
        try await PythonScene.run("disturbing", "policy")
    }

    @Test(.long) func `A flood of events costs a bounded memory`() async throws {
        try await PythonScene.run("disturbing", "flood")
    }

    @Test(.long) func `Many devices and messages cost what one page of them costs`() async throws {
        try await PythonScene.run("disturbing", "many")
    }

    @Test(.long) func `A Carillon that is busy, fails or is gone is named, and the console comes back`() async throws {
        try await PythonScene.run("disturbing", "busy")
    }

    @Test(.long) func `All pages of the console are accessible in both color schemes from 320 pixels on`() async throws
    {
        try await PythonScene.run("auditing", "accessible")
    }

    @Test(.long) func `Everything is done by keyboard`() async throws {
        try await PythonScene.run("auditing", "keyboard")
    }
}
