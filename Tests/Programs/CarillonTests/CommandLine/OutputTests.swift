import TestSupport
import TestTraits
import Testing

/// Tests of the standard output of verbs: full, closed by its reader, or closed from the start.
@Suite(.waits) struct OutputTests {
    /// Runs carillon with a redirection of the shell.
    private func run(_ words: String, _ redirection: String) async throws -> ChildProcess.Ended {
        try await ChildProcess.run("sh", ["-c", "exec \"$0\" \(words) \(redirection)", ChildProcess.carillon])
    }

    @Test(arguments: ["version", "version --json", "--help", "send --help", "completion bash"])
    func `A verb fails if its output cannot be written`(_ words: String) async throws {
        let ended = try await run(words, ">/dev/full")
        #expect(ended.status == 1)
        #expect(ended.errors == "carillon: cannot write the standard output: No space left on device\n")
    }

    @Test func `A key whose secret cannot be shown is a failure`() async throws {
        let directory = try TemporaryDirectory()
        let ended = try await run("keys api add orders --role push --data \(directory.path)/data", ">/dev/full")
        #expect(ended.status == 1 && ended.errors.contains("cannot write the standard output"), "\(ended)")
    }

    @Test func `A failed verb keeps its exit code`() async throws {
        let directory = try TemporaryDirectory()
        let ended = try await run("check --json --config \(directory.path)/none", ">/dev/full")
        #expect(ended.status == 78, "\(ended)")
    }

    @Test func `A reader that closes its end is not an error`() async throws {
        let ended = try await ChildProcess.run(
            "bash", ["-c", "\"$0\" completion bash | true; echo ${PIPESTATUS[0]}", ChildProcess.carillon])
        #expect(ended.output == "0\n" && ended.errors.isEmpty, "\(ended)")
    }

    @Test func `No file gets the number of a closed standard output`() async throws {
        let scene = try await ServeScene()
        let file = try scene.configure(scene.app("shop"))
        #expect(try await RunningServe(file).stop().status == 0)
        // It reads the files of the stopped directory and fails if its output meets one of its own descriptors.
        let ended = try await run("devices export --config \(file)", ">&-")
        #expect(ended.status == 0, "\(ended)")
    }
}
