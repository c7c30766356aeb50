import TestSupport
import TestTraits
import Testing

/// Runs `Tools/fuzz/peers` for some seconds, and in `Tools/test --long` for a minute, with thousands of hostile peers and
/// some honest ones.
@Suite(.waits) struct HostilePeersTests {
    @Test(arguments: ["none", "curve"])
    func `Hostile peers do not affect honest peers, and the process leaks neither memory nor descriptors`(
        security: String
    ) async throws {
        let ended = try await ChildProcess.run(
            Self.harness,
            [
                "--security", security, "--seconds", "\(RunKind.rounds(3, long: 60))", "--json", "--program",
                ChildProcess.carillon,
            ])
        #expect(ended.status == 0, "\(ended.output)\(ended.errors)")
    }

    private static let harness: String = {
        var path = #filePath.split(separator: "/")
        path.removeLast(5)
        return "/" + path.joined(separator: "/") + "/Tools/fuzz/peers/run"
    }()
}
