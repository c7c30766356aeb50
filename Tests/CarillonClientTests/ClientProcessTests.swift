import TestSupport
import Testing

/// Tests of clients as processes, with a Carillon that is killed. `Tools/bench/client` runs the same with a million
/// messages.
@Suite(.timeLimit(.minutes(20))) struct ClientProcessTests {
    private func run(_ arguments: [String]) async throws {
        let root = "/" + #filePath.split(separator: "/").dropLast(3).joined(separator: "/")
        let folder = ChildProcess.carillon.split(separator: "/").dropLast().map { "/" + $0 }.joined()
        let ended = try await ChildProcess.run(
            "env",
            [
                "CARILLON=\(ChildProcess.carillon)", "CLIENT_DRIVER=\(folder)/ClientDriver",
                "\(root)/Tools/bench/client",
            ] + arguments)
        #expect(ended.status == 0, "\(ended.output)\(ended.errors)")
    }

    @Test func `Each message is accepted once, although Carillon is killed three times`() async throws {
        try await run(["--count", "20000", "--kills", "3", "--away", "0.5", "--tasks", "300"])
    }

    @Test func `Each message is accepted once from the spool, although the producer is killed, too`() async throws {
        try await run(["--count", "10000", "--kills", "2", "--away", "3", "--tasks", "300", "--spool"])
    }

    @Test func `Readers have each event once across kills of Carillon and restarts, and miss none if they are killed`()
        async throws
    {
        try await run(["--watch", "--count", "10000", "--kills", "2", "--away", "0.5", "--tasks", "300"])
    }

    @Test func `With two Carillons of which one is killed at a time, each message is accepted, and by no ledger twice`()
        async throws
    {
        try await run(["--two", "--count", "20000", "--tasks", "300"])
    }

    @Test func `Readers whose connections are reset have each event once`() async throws {
        try await run(["--watch", "--disconnects", "5", "--count", "20000", "--tasks", "300"])
    }

    @Test func `With keys, messages are accepted and events are read`() async throws {
        try await run(["--watch", "--curve", "--count", "2000", "--kills", "1", "--away", "0", "--tasks", "100"])
    }
}
