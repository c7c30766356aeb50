import TestTraits
import Testing

/// Tests of ends and faults of the program while HTTP producers push.
@Suite(.waits) struct HTTPCrashTests {
    @Test func `What was answered with 202 before a kill is carried out, and an id is accepted once`() async throws {
        try await PythonScene.run("http_crashes", "kills")
    }

    @Test func `A stop answers 202 or nothing to producers, and loses nothing that was acknowledged`() async throws {
        try await PythonScene.run("http_crashes", "drain")
    }

    @Test func `A stop ends in time, whatever its clients are doing`() async throws {
        try await PythonScene.run("http_crashes", "busy_stop")
    }

    @Test func `A registration that was answered before a kill is there after it, once`() async throws {
        try await PythonScene.run("http_crashes", "registrations")
    }

    @Test func `On a full disk HTTP clients get 503, and nothing is acknowledged that is not on disk`() async throws {
        try await PythonScene.run("http_crashes", "full_disk")
    }

    @Test func `With more clients than descriptors, what was acknowledged is carried out`() async throws {
        try await PythonScene.run("http_crashes", "open_files")
    }
}
