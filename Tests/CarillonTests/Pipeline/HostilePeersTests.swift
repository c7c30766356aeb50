import TestSupport
import Testing

/// Runs `Tools/fuzz/peers` for half a minute, with thousands of hostile peers and some honest ones.
@Suite(.timeLimit(.minutes(10))) struct HostilePeersTests {
    @Test(arguments: ["none", "curve"])
    func `Hostile peers do not affect honest peers, and the process leaks neither memory nor descriptors`(
        security: String
    ) async throws {
        let ended = try await ChildProcess.run(
            Self.harness,
            ["--security", security, "--seconds", "15", "--json", "--program", ChildProcess.carillon])
        #expect(ended.status == 0, "\(ended.output)\(ended.errors)")
    }

    private static let harness: String = {
        var path = #filePath.split(separator: "/")
        path.removeLast(4)
        return "/" + path.joined(separator: "/") + "/Tools/fuzz/peers/run"
    }()
}
