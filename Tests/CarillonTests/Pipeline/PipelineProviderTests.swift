import Testing

/// What a push service does to whoever pushes, and what an operator sees of it.
@Suite(.timeLimit(.minutes(10))) struct PipelineProviderTests {
    @Test func `a device that is sent too much holds back nobody else`() async throws {
        try await PythonScene.run("providing", "rate_limited")
    }

    @Test func `an outage is told in the same words everywhere, and is over without a push`() async throws {
        try await PythonScene.run("providing", "outage")
    }

    @Test func `a key that the push service does not believe is told at once`() async throws {
        try await PythonScene.run("providing", "wrong_key")
    }

    @Test func `SIGTERM waits for nothing where nothing can be sent`() async throws {
        try await PythonScene.run("providing", "cut_off")
    }

    @Test func `a 410 that does not deactivate is explained`() async throws {
        try await PythonScene.run("providing", "alive_after_all")
    }

    @Test func `seventeen hundred apps are served, measured, reloaded and stopped`() async throws {
        try await PythonScene.run("providing", "many_apps")
    }
}
