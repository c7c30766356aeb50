import ServerTestSupport
import TestSupport

extension PipelineScene {
    /// Runs the program with the data directory of the scene.
    func run(_ arguments: String...) async throws -> ChildProcess.Ended { try await run(arguments) }

    func run(_ arguments: [String]) async throws -> ChildProcess.Ended {
        try await ChildProcess.run(ChildProcess.carillon, arguments + ["--data", control.data])
    }
}
