import Glibc
import TestTraits
import Testing

/// Tests that hold the HTTP side of a running Carillon to `/openapi.json`.
@Suite(.waits) struct OpenAPIAnswerTests {
    @Test func `Each operation answers what it declares, and everything that it declares is answered`() async throws {
        try await PythonScene.run("openapi_answers", "every_status")
    }

    @Test func `What HTTP refuses is a problem with a code, and is counted`() async throws {
        try await PythonScene.run("http_refusals", "refusals")
    }

    @Test func `No input makes the server fail, or answer something that it does not declare`() async throws {
        try await PythonScene.run("bad_requests", "every_value")
    }

    @Test func `The description has none of the known traps of generators`() async throws {
        try await PythonScene.run("openapi_clients", "generator_traps")
    }

    @Test func `The schemas refuse what the server refuses, and take what it takes`() async throws {
        try await PythonScene.run("openapi_clients", "schema_refusals")
    }

    private static let hasGenerator = (getenv("PATH").map { String(cString: $0) } ?? "").split(separator: ":")
        .contains { access("\($0)/openapi-python-client", X_OK) == 0 }

    @Test(.enabled(if: hasGenerator, "pipx install openapi-python-client"))
    func `A generated Python client is imported and sends a message`() async throws {
        try await PythonScene.run("openapi_clients", "python_client")
    }

    @Test func `A whole number is one however it is written`() async throws {
        try await PythonScene.run("openapi_clients", "whole_numbers")
    }

    private static let hasFinder = access(".build/schemathesis/bin/schemathesis", X_OK) == 0

    @Test(.long, .enabled(if: hasFinder, "Tools/setup"))
    func `Requests that are derived from the description find no difference`() async throws {
        try await PythonScene.run("openapi_clients", "generated_requests")
    }

    @Test func `A description that differs from the answers is found`() async throws {
        try await PythonScene.run("openapi_comparison", "differences")
    }
}
