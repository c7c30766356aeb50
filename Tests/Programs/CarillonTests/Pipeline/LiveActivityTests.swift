import TestTraits
import Testing

/// Live Activities, from the producer to a phone that the simulator plays.
@Suite(.waits) struct LiveActivityTests {
    @Test func `An activity is started, updated and ended, and gets nothing afterwards`() async throws {
        try await PythonScene.run("live_activities", "life")
    }

    @Test func `By the command line, an activity is one story from its start to its end`() async throws {
        try await PythonScene.run("live_activities", "commands")
    }

    @Test func `Updates of ten thousand activities without an address wait, and more are busy`() async throws {
        try await PythonScene.run("live_activities", "unaddressed")
    }

    @Test func `After an outage with two kills each activity has its newest state, once`() async throws {
        try await PythonScene.run("live_activities", "outage")
    }
}
