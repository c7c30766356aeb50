import PushLoop
import TestSupport
import Testing

/// Runs a scene of `Scenes/`: the program as a process, with peers that use another ZeroMQ library.
enum PythonScene {
    private static let directory: String = {
        var path = #filePath.split(separator: "/")
        path.removeLast()
        return "/" + path.joined(separator: "/") + "/Scenes"
    }()

    /// The first Python interpreter that has the modules of the scenes, which is looked for once.
    private static let found = Task<String, any Error> {
        for candidate in ["python3", "/usr/bin/python3"] {
            if try await ChildProcess.run(candidate, ["-c", "import jsonschema, zmq"]).status == 0 { return candidate }
        }
        throw ChildProcess.NotStarted(
            description: "no Python that can import zmq and jsonschema; Tools/setup installs one")
    }

    static func interpreter() async throws -> String { try await found.value }

    /// Runs a scene with further variables (`NAME=VALUE`), and returns its output.
    @discardableResult
    static func run(_ file: String, _ scene: String, variables: [String] = []) async throws -> String {
        // The scene ends before the test does, so that it can say what it waits for, and clean up.
        let bound = Patience.bound * 0.8
        let ended = try await ChildProcess.run(
            "env",
            variables + [
                "CARILLON_WAIT_BOUND=\(bound / .seconds(1))",
                "CARILLON_PROGRAM=\(ChildProcess.carillon)", try await interpreter(), "-B", "\(directory)/\(file).py",
                scene,
            ])
        // The last line of a traceback names the error. It goes first, because a summary shows only the first line.
        let last = ended.errors.split(separator: "\n").last ?? ""
        #expect(ended.status == 0, "\(file) \(scene): \(last)\n\(ended.output)\(ended.errors)")
        return ended.output
    }
}
