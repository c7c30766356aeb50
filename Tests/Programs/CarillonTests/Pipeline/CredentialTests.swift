import TestTraits
import Testing

/// Tests of the credentials of apps with a running Carillon: their states, wrong ones, and unusable ones.
@Suite(.waits) struct CredentialTests {
    @Test func `The credentials are shown with their state, their expiry and their faults`() async throws {
        try await PythonScene.run("credentials", "states")
    }

    @Test func `A key that the push service refuses is reported at once`() async throws {
        try await PythonScene.run("credentials", "wrong_key")
    }

    @Test func `Messages of an app without a usable credential wait until it is fixed`() async throws {
        try await PythonScene.run("credentials", "fixed_credential")
    }
}
