import TestTraits
import Testing

/// Messages at a local time, with a time zone database of the scene's own.
@Suite(.waits) struct LocalTimeTests {
    @Test func `Each device gets a message once at its own time, through a kill and its journeys`() async throws {
        try await PythonScene.run("local_time", "turns")
    }

    @Test func `What is late, cancelled or expired does not go out in the zones that are left`() async throws {
        try await PythonScene.run("local_time", "ends")
    }

    @Test func `A time zone that does not exist is refused by its name, until a reload finds it`() async throws {
        try await PythonScene.run("local_time", "zones")
    }
}
