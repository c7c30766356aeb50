import TestTraits
import Testing

/// Tests of cancellations and pauses with the whole program, its producers, and a simulated push service.
@Suite(.waits) struct MessageCancellationTests {
    @Test func `A waiting message is cancelled wherever it waits, and its id stays known`() async throws {
        try await PythonScene.run("cancellations", "waiting_messages")
    }

    @Test func `A broadcast that is half out stops, and the answer counts what had gone out`() async throws {
        try await PythonScene.run("cancellations", "partial_broadcast")
    }

    @Test func `Each message that races with its cancellation is sent or cancelled, as the answer says`() async throws {
        try await PythonScene.run("cancellations", "race_with_delivery")
    }

    @Test func `A cancellation that comes together with the answer says what happened`() async throws {
        try await PythonScene.run("cancellations", "race_with_answer")
    }

    @Test func `A cancellation that comes while devices are claimed counts them`() async throws {
        try await PythonScene.run("cancellations", "race_with_look_up")
    }

    @Test func `What waits for a stream does not start after a pause or a cancellation was answered`() async throws {
        try await PythonScene.run("cancellations", "held_answers")
    }

    @Test func `Nothing of a cancelled message goes out after a kill, and it is completed once`() async throws {
        try await PythonScene.run("cancellations", "kill")
    }

    @Test func `An invalid request to cancel is refused with its reason`() async throws {
        try await PythonScene.run("cancellations", "invalid_requests")
    }

    @Test func `A paused app sends nothing, also after a restart, and other apps do`() async throws {
        try await PythonScene.run("cancellations", "paused_app")
    }
}
