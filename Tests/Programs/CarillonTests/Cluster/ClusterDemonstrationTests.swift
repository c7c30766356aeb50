import TestSupport
import TestTraits
import Testing

/// Three nodes, a PostgreSQL with two standbys, and failures of each kind, with real processes.
@Suite(.long, .waits) struct ClusterDemonstrationTests {
    private static let script =
        "/" + #filePath.split(separator: "/").dropLast(5).joined(separator: "/") + "/Tools/cluster"

    @Test func `What a cluster acknowledged is carried out once, whatever stops`() async throws {
        let ended = try await ChildProcess.run(
            try await PythonScene.interpreter(),
            [
                "-B", Self.script, "--once", "--binary", ChildProcess.carillon, "--kills", "1", "--promotions", "1",
                "--stops", "1", "--standby-stops", "1", "--database-cuts", "1", "--peer-cuts", "1", "--unknown", "1",
                "--clocks", "1", "--restores", "1", "--rate", "60", "--lease", "4", "--untimed",
            ])
        let broken = ended.output.split(separator: "\n").first { $0.contains("BROKEN") } ?? ""
        #expect(ended.status == 0, "\(broken)\n\(ended.output)\(ended.errors)")
        let held = ended.output.split(separator: "\n").count { $0.hasPrefix("  held: ") }
        #expect(held == 16)
    }
}
