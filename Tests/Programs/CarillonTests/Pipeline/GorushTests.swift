import TestTraits
import Testing

/// The door for clients of gorush, at simulated push services.
@Suite(.waits) struct GorushTests {
    @Test("Each request of gorush's tests and README has gorush's status and members, and arrives")
    func corpus() async throws {
        try await PythonScene.run("gorush", "corpus")
    }

    @Test("A retry is one push, also after a kill, and the same text after the window is two")
    func once() async throws {
        try await PythonScene.run("gorush", "once")
    }

    @Test("What was answered with 200 arrives after a kill")
    func killed() async throws {
        try await PythonScene.run("gorush", "killed")
    }

    @Test("With sync, the answer has what became of each token")
    func outcomes() async throws {
        try await PythonScene.run("gorush", "outcomes")
    }

    @Test("Hostile bodies are refused by name, and take bounded memory")
    func hostile() async throws {
        try await PythonScene.run("gorush", "hostile")
    }
}
