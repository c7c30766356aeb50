import TestTraits
import Testing

/// Tests that hold the HTTP side of a running Carillon to `/openapi.json`.
@Suite(.waits) struct DescriptionTests {
    @Test func `Each operation answers what it declares, and everything that it declares is answered`() async throws {
        try await PythonScene.run("describing", "every_answer")
    }

    @Test func `What HTTP refuses is a problem with a code, and is counted`() async throws {
        try await PythonScene.run("declining", "refusals")
    }

    @Test func `The credentials are shown with their state, their expiry and their faults`() async throws {
        try await PythonScene.run("trusting", "states")
    }

    @Test func `No input makes the server fail, or answer something that it does not declare`() async throws {
        try await PythonScene.run("mistaking", "everything")
    }

    @Test func `A description that differs from the answers is found`() async throws {
        try await PythonScene.run("declining", "differences")
    }
}
