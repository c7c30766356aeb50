import TestTraits
import Testing

/// Tests of cancellations and pauses with the whole program, its producers, and a simulated push service.
@Suite(.waits) struct CancelTests {
    @Test func `A waiting message is cancelled wherever it waits, and its id stays known`() async throws {
        try await PythonScene.run("cancelling", "waiting")
    }

    @Test func `A broadcast that is half out stops, and the answer counts what had gone out`() async throws {
        try await PythonScene.run("cancelling", "half_out")
    }

    @Test func `Each message that races with its cancellation is sent or cancelled, as the answer says`() async throws {
        try await PythonScene.run("cancelling", "racing")
    }

    @Test func `A cancellation that comes together with the answer says what happened`() async throws {
        try await PythonScene.run("cancelling", "answered")
    }

    @Test func `What waits for a stream does not start after a pause or a cancellation was answered`() async throws {
        try await PythonScene.run("cancelling", "held")
    }

    @Test func `Nothing of a cancelled message goes out after a kill, and it is completed once`() async throws {
        try await PythonScene.run("cancelling", "killed")
    }

    @Test func `An invalid request to cancel is refused with its reason`() async throws {
        try await PythonScene.run("cancelling", "refused")
    }

    @Test func `A paused app sends nothing, also after a restart, and other apps do`() async throws {
        try await PythonScene.run("cancelling", "paused")
    }
}
