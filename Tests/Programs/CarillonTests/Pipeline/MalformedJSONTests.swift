import TestTraits
import Testing

/// Tests of bodies that are not JSON, or are too much of it, with the whole program.
@Suite(.waits) struct MalformedJSONTests {
    @Test func `Ten thousand broken lines have their acks, and another app is served meanwhile`() async throws {
        try await PythonScene.run("malformed_json", "broken_lines")
    }

    @Test func `Lines of 32 MiB, and lines that end within a character, are refused`() async throws {
        try await PythonScene.run("malformed_json", "long_lines")
    }

    @Test func `JSON that no sane client sends has its answer at every route`() async throws {
        try await PythonScene.run("malformed_json", "json_values")
    }
}
