import Foundation
import TestSupport
import TestTraits
import Testing

/// Tests of clients as processes, with a Carillon that is killed. `Tools/bench/client` runs the same with a million
/// messages.
@Suite(.startsProgram, .waits) struct ClientProcessTests {
    private static let many = "\(RunKind.rounds(8000, long: 20_000))"
    private static let some = "\(RunKind.rounds(4000, long: 10_000))"

    private func run(_ arguments: [String]) async throws {
        let root = "/" + #filePath.split(separator: "/").dropLast(4).joined(separator: "/")
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
        try await run(["--count", Self.many, "--kills", "3", "--away", "0.5", "--tasks", "300"])
    }

    @Test func `Each message is accepted once from the spool, although the producer is killed, too`() async throws {
        try await run(["--count", Self.some, "--kills", "2", "--away", "3", "--tasks", "300", "--spool"])
    }

    @Test func `Readers have each event once across kills of Carillon and restarts, and miss none if they are killed`()
        async throws
    {
        try await run(["--watch", "--count", Self.some, "--kills", "2", "--away", "0.5", "--tasks", "300"])
    }

    @Test func `With two Carillons of which one is killed at a time, each message is accepted, and by no ledger twice`()
        async throws
    {
        try await run(["--two", "--count", Self.many, "--tasks", "300"])
    }

    @Test func `Readers whose connections are reset have each event once`() async throws {
        try await run(["--watch", "--disconnects", "5", "--count", Self.many, "--tasks", "300"])
    }

    @Test func `With keys, messages are accepted and events are read`() async throws {
        try await run(["--watch", "--curve", "--count", "2000", "--kills", "1", "--away", "0", "--tasks", "100"])
    }

    @Test func `On a full disk a push fails, and what counted as spooled is pushed once there is room`() async throws {
        let directory = try TemporaryDirectory()
        let driver = ChildProcess.carillon.split(separator: "/").dropLast().map { "/" + $0 }.joined() + "/ClientDriver"
        let words = ["push", "--spool", "\(directory.path)/spool", "--tasks", "20", "--endpoint"]
        // A file of 64 KiB has no room for all; the record at the end is cut off.
        let full = try await ChildProcess.run(
            "bash",
            ["-c", "trap '' XFSZ; ulimit -f 64; exec \"$0\" \"$@\"", driver] + words + [
                "tcp://127.0.0.1:1", "--count", "1000",
            ])
        #expect(full.status == 0 && full.errors.contains("the spool cannot be written"), "\(full.errors)")
        func number(_ name: String, in output: String) throws -> Int {
            let rest = try #require(output.components(separatedBy: "\"\(name)\":").last)
            return try #require(Int(rest.prefix { $0.isNumber }))
        }
        let spooled = try number("spooled", in: full.output)
        #expect(try spooled > 50 && number("failed", in: full.output) == 1000 - spooled)
        let fake = try await FakeIntake(script: FakeIntake.accepting)
        let drained = try await ChildProcess.run(driver, words + [fake.endpoint, "--count", "0", "--drain", "1"])
        #expect(drained.status == 0, "\(drained.errors)")
        let ids = fake.requests.events.flatMap { $0.ids }
        #expect(ids.count == spooled && Set(ids).count == spooled)
        await fake.stop()
    }
}
