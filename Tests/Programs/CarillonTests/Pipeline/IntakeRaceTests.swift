import TestTraits
import Testing

/// Tests of one message that arrives over ZeroMQ and over HTTP at the same moment.
@Suite(.waits) struct IntakeRaceTests {
    @Test func `A message that is pushed at two doors is accepted once and sent once`() async throws {
        try await PythonScene.run("zeromq_http_race", "pushes")
    }

    @Test func `A message that is cancelled at two doors is cancelled once`() async throws {
        try await PythonScene.run("zeromq_http_race", "cancellations")
    }
}
