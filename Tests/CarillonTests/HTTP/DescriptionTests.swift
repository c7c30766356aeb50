import Glibc
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

    @Test func `The description has none of the known traps of generators`() async throws {
        try await PythonScene.run("generating", "traps")
    }

    @Test func `The schemas refuse what the server refuses, and take what it takes`() async throws {
        try await PythonScene.run("generating", "refusals")
    }

    private static let hasGenerator = (getenv("PATH").map { String(cString: $0) } ?? "").split(separator: ":")
        .contains { access("\($0)/openapi-python-client", X_OK) == 0 }

    @Test(.enabled(if: hasGenerator, "pipx install openapi-python-client"))
    func `A generated Python client is imported and sends a message`() async throws {
        try await PythonScene.run("generating", "python")
    }

    @Test func `A description that differs from the answers is found`() async throws {
        try await PythonScene.run("declining", "differences")
    }
}
