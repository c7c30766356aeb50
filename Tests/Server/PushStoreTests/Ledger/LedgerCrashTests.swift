import Foundation
import PushModel
import TestSupport
import TestTraits
import Testing

@testable import PushStore

/// A process with a busy ledger is killed repeatedly, each time at a random moment.
@Suite(.startsProgram) struct LedgerCrashTests {
    @Test func `Acknowledged messages survive twenty kills, and no number is used twice`() async throws {
        try await withLedgerFolder { folder in
            var random = SeededRandom(seed: 20)
            var next = 0
            var accepted: [Int: UInt64] = [:]
            for _ in 0..<20 {
                let lines = try await killed(folder, from: next, &random)
                for (number, seq) in lines {
                    #expect(accepted.updateValue(seq, forKey: number) == nil)
                    next = max(next, number + 1)
                }
                // The process may have accepted further messages that it did not print.
                next += 100
                let scene = try await LedgerScene(folder)
                try await expectAll(accepted, in: scene)
                await scene.ledger.close()
            }
            #expect(accepted.count > 20)
            #expect(Set(accepted.values).count == accepted.count)
        }
    }

    private func killed(
        _ folder: String, from first: Int, _ random: inout SeededRandom
    ) async throws -> [(Int, UInt64)] {
        let here = ChildProcess.carillon.split(separator: "/", omittingEmptySubsequences: false).dropLast()
        let process = try ChildProcess(
            here.joined(separator: "/") + "/Benchmarks", ["ledger-crash", "--directory", folder, "--from", "\(first)"])
        var text = ""
        for _ in 0..<Int.random(in: 1...2000, using: &random) {
            text += try #require(try await process.line(), "the process ended by itself") + "\n"
        }
        // The delay only varies the moment of the kill.
        usleep(UInt32.random(in: 0..<5000, using: &random))  // timed: the moment of a kill is random
        process.send(SIGKILL)
        let ended = try await process.end()
        #expect(ended.status == 128 + SIGKILL, "\(ended.errors)")
        return (text + ended.output).split(separator: "\n").compactMap { line in
            let words = line.split(separator: " ")
            guard words.count == 2, let number = Int(words[0]), let seq = UInt64(words[1]) else { return nil }
            return (number, seq)
        }
    }

    private func expectAll(_ accepted: [Int: UInt64], in scene: LedgerScene) async throws {
        let page = try await scene.ledger.read(since: 0, limit: .max)
        let events = try page.segments.flatMap { try $0.events() }
        #expect(events.map(\.seq) == Array(1...UInt64(max(1, events.count))))
        var ids: [UInt64: String] = [:]
        for event in events where event.topic.hasSuffix("accepted") { ids[event.seq] = event.message }
        for (number, seq) in accepted { #expect(ids[seq] == "crash-\(number)") }
        let done = Set(events.filter { $0.topic.hasSuffix("completed") }.compactMap(\.message))
        let waiting = ids.filter { !done.contains($0.value) }.keys.sorted()
        // An answer ends after some mebibytes. The messages after its last one are requested again.
        var loaded: [AcceptedMessage] = []
        var rest = ids.keys.sorted()
        while !rest.isEmpty {
            let some = try await scene.load(rest)
            loaded += some
            rest.removeAll { seq in some.last.map { seq <= $0.seq } ?? true }
        }
        #expect(loaded.map(\.seq) == waiting)
        for message in loaded { #expect(message.message.id.text == ids[message.seq]) }
    }
}
