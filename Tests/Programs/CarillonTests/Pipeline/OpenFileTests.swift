import TestTraits
import Testing

/// Tests of the limit of open files.
@Suite(.waits) struct OpenFileTests {
    @Test func `More HTTP connections than descriptors do no harm`() async throws {
        try await PythonScene.run("open_files", "many_http_connections")
    }

    @Test func `Hundreds of silent connections do not block health checks and the control socket`() async throws {
        try await PythonScene.run("open_files", "silent_connections")
    }

    @Test func `A full HTTP door leaves descriptors for everything else`() async throws {
        try await PythonScene.run("open_files", "full_http_port")
    }

    @Test func `The limit of descriptors is raised at the start`() async throws {
        try await PythonScene.run("open_files", "raised_limit")
    }

    @Test func `A start with limits that are too low is refused with words`() async throws {
        try await PythonScene.run("open_files", "too_few")
    }
}
