import Foundation
import PushLoop
import PushModel
import TestSupport
import Testing

@testable import PushStore

@Suite struct LedgerFaultTests {
    /// It runs in a process of its own, because the file size limit applies to a process.
    @Test func `A full disk refuses new messages; acknowledged messages and outcomes are kept`() async throws {
        await #expect(processExitsWith: .success) {
            signal(SIGXFSZ, SIG_IGN)
            try await withLedger { try await fillUp($0) }
        }
    }

    @Test func `A ledger can be closed while writes fail`() async throws {
        await #expect(processExitsWith: .success) {
            signal(SIGXFSZ, SIG_IGN)
            try await withLedgerFolder { try await closeWhileFull($0) }
        }
    }

    @Test func `After beginEnd no caller waits for a failing disk`() async throws {
        await #expect(processExitsWith: .success) {
            signal(SIGXFSZ, SIG_IGN)
            try await withLedgerFolder { try await endWhileFull($0) }
        }
    }

    @Test func `Events that find no room while writes fail are counted and reported`() async throws {
        await #expect(processExitsWith: .success) {
            signal(SIGXFSZ, SIG_IGN)
            try await withLedgerFolder { try await dropWhileFull($0) }
        }
    }

    @Test func `A missing directory is reported with its path`() async throws {
        let error = await #expect(throws: StoreError.self) {
            _ = try await SQLiteLedger.open(SQLiteLedger.Settings(directory: "/nonexistent/carillon"))
        }
        #expect(error?.code == .cannotOpen)
        #expect(error?.description.contains("/nonexistent/carillon/ledger.db") == true)
    }

    @Test func `A file that is not a database is reported as damaged`() async throws {
        try await withLedgerFolder { folder in
            try Data((0..<9000).map { UInt8(truncatingIfNeeded: $0 &* 7) }).write(
                to: URL(filePath: folder + "/ledger.db"))
            let error = await #expect(throws: StoreError.self) { _ = try await LedgerScene(folder) }
            #expect(error?.code == .damaged)
        }
    }

    @Test func `A file of a newer version is refused and not changed`() async throws {
        try await withLedger { scene in
            await scene.ledger.close()
            let connection = try SQLiteConnection(scene.path)
            try connection.run("PRAGMA user_version = 99")
            let error = await #expect(throws: StoreError.self) { try await scene.reopenOnly() }
            #expect(error?.code == .newerVersion)
            #expect(error?.description.contains("file version 99") == true)
            try connection.run("PRAGMA user_version = \(LedgerSchema.version)")
            try await scene.reopenOnly()
        }
    }

    /// A power failure can leave a log that is complete up to the last reply and torn after it.
    @Test(arguments: 1...6 as ClosedRange<UInt64>)
    func `A torn end of the write-ahead log loses no acknowledged message`(seed: UInt64) async throws {
        try await withLedger { scene in
            var random = SeededRandom(seed: seed)
            for index in 0..<20 { _ = await scene.accept(push("m\(index)", to: [index])) }
            let files = FileManager.default
            let acknowledged = try files.attributesOfItem(atPath: scene.path + "-wal")[.size] as? Int ?? 0
            #expect(acknowledged > 0)
            for index in 20..<40 { _ = await scene.accept(push("m\(index)", to: [index])) }
            let whole = try Data(contentsOf: URL(filePath: scene.path + "-wal"))
            let base = try Data(contentsOf: URL(filePath: scene.path))
            for round in 0..<12 {
                let folder = scene.folder + "/torn\(round)"
                try files.createDirectory(atPath: folder, withIntermediateDirectories: true)
                var log = whole
                let cut = Int.random(in: acknowledged...log.count, using: &random)
                if round % 2 == 0 {
                    log = log.prefix(cut)
                } else {
                    for _ in 0..<8 where cut < log.count {
                        log[Int.random(in: cut..<log.count, using: &random)] ^= UInt8.random(
                            in: 1...255, using: &random)
                    }
                }
                try base.write(to: URL(filePath: folder + "/ledger.db"))
                try log.write(to: URL(filePath: folder + "/ledger.db-wal"))
                let torn = try await LedgerScene(folder)
                // Damage before the last transaction is found, and numbers go on above it.
                let status = await torn.settled()
                let newest = torn.missing.first?.newest ?? status.newest
                #expect((20...40).contains(newest))
                let replies = await torn.accept((0..<40).map { push("m\($0)", to: [$0]) })
                #expect(replies.prefix(Int(newest)) == (1...newest).map { .duplicate(seq: $0) }[...])
                #expect(replies.dropFirst(Int(newest)).allSatisfy { $0.seq != nil })
                await torn.ledger.close()
            }
        }
    }

    @Test func `A damaged message is reported once, and the others stay readable`() async throws {
        try await withLedger { scene in
            let later = scene.now + 10
            _ = await scene.accept(
                [push("a"), push("b"), push("c")] + ["x", "y", "z"].map { push($0, notBefore: later) })
            await scene.ledger.close()
            do {
                let connection = try SQLiteConnection(scene.path)
                let find = try connection.prepare("SELECT bodies FROM messages")
                #expect(try find.step())
                var bodies = find.blob(0)
                find.reset()
                // The byte before the id's length is the priority. The byte before that is the push type, which gets an
                // invalid value.
                let id = try #require((3..<bodies.count).first { bodies[$0] == 1 && bodies[$0 + 1] == 0x62 })
                bodies[id - 2] = 0xff
                let change = try connection.prepare("UPDATE messages SET bodies = ?")
                change.bind(1, bodies)
                try change.run()
                try connection.run("UPDATE scheduled SET body = x'00ff' WHERE seq = 5")
            }
            try await scene.reopenOnly()
            let error = await #expect(throws: LedgerFault.self) { _ = try await scene.load([1, 2, 3]) }
            #expect(error?.description.contains("message 2") == true)
            // The event of its acceptance still contains id and app.
            #expect(error?.damaged?.seq == 2 && error?.damaged?.id?.text == "b" && error?.damaged?.app?.name == "shop")
            let others = try await scene.load([1, 2, 3])
            #expect(others.map(\.seq) == [1, 3])
            #expect(try await scene.due(at: later).messages.map(\.seq) == [4])
            let second = await #expect(throws: LedgerFault.self) { _ = try await scene.due(at: later) }
            #expect(second?.description.contains("message 5") == true)
            #expect(second?.damaged?.seq == 5 && second?.damaged?.id?.text == "y")
            #expect(try await scene.due(at: later).messages.map(\.seq) == [6])
        }
    }

    @Test func `A damaged segment fails when it is read, and the ledger still works`() async throws {
        try await withLedger { scene in
            for index in 0..<3 { _ = await scene.accept(push("m\(index)")) }
            await scene.ledger.close()
            do {
                let connection = try SQLiteConnection(scene.path)
                try connection.run("UPDATE log SET body = x'ffffff', count = 1 WHERE first = 2")
            }
            try await scene.reopenOnly()
            let segments = try await scene.ledger.read(since: 0, limit: 100).segments
            #expect(segments.map(\.first) == [1, 2, 3])
            #expect(throws: (any Error).self) { try segments[1].events() }
            #expect(try segments[2].events().count == 1)
            // The damaged segment may have events of the message.
            #expect(try await scene.ledger.trace(.message(MessageID("m2")!), limit: 5).map(\.first) == [2, 3])
            #expect(await scene.accept(push("m1")) == .duplicate(seq: 2))
            #expect(await scene.accept(push("next")).seq == 5)
        }
    }
}

/// Accepts messages until the disk is full, and again after the limit is lifted.
private func fillUp(_ scene: LedgerScene) async throws {
    _ = await scene.accept((0..<100).map { push("before\($0)", to: [$0, 1000]) })
    let messages = scene.listener.messages
    limitFiles(to: 600_000)
    var accepted = 0
    var refused = 0
    // Space is available for a while whenever the log restarts, and then no longer.
    while refused < 20, accepted < 10_000 {
        let large = [UInt8](repeating: 0x20, count: 4000)
        switch await scene.accept(push("filling\(accepted)", payload: large)) {
        case .accepted:
            accepted += 1
            refused = 0
        case .failed(let words):
            refused += 1
            #expect(words.contains("disk is full"))
        case let other: Issue.record("\(other)")
        }
    }
    #expect(refused == 20)
    let changes = scene.listener.health.count
    #expect(changes % 2 == 1)
    #expect(scene.listener.health.last.flatMap { $0 } != nil)
    let newest = await scene.settled().newest
    // Outcomes of accepted messages are kept, and claims still work.
    for message in messages { scene.carryOut(message) }
    #expect(await scene.claim(1, "before0", [token(0)]) == [.new])
    let refusedAgain = await scene.accept(push("before0", to: [0, 1000]))
    guard case .failed = refusedAgain else {
        Issue.record("\(refusedAgain)")
        return
    }
    #expect(await scene.settled().newest == newest)
    // Retain so many outcomes that nothing more is handed out.
    let many = scene.records(messages[0], Array(repeating: token(0), count: 70_000), .expired)
    scene.ledger.record(many, completed: [])
    await scene.settled()
    await #expect(throws: LedgerFault.self) { _ = try await scene.load([1]) }
    await #expect(throws: LedgerFault.self) { _ = try await scene.due(at: .max) }
    let held = Locked<[[ClaimVerdict]]?>(nil)
    let page = ClaimPage(seq: 1, fingerprint: scene.fingerprint("before0"), devices: [scene.device(token(0))])
    scene.ledger.claim([page]) { verdicts in held.withLock { $0 = verdicts } }
    await scene.settled()
    #expect(held.withLock { $0 } == nil)
    // The witness takes messages again before the status says that the ledger can write.
    let readyBefore = Locked<Bool?>(nil)
    scene.listener.onHealth.withLock {
        $0 = { [ledger = scene.ledger] _ in readyBefore.withLock { $0 = ledger.latest.fault == nil } }
    }
    limitFiles(to: .max)
    // The ledger retries by itself and writes everything as soon as there is space.
    await wait(while: await scene.settled().fault != nil)
    #expect(held.withLock { $0 } == [[.had]])
    #expect(readyBefore.withLock { $0 } == false)
    scene.listener.onHealth.withLock { $0 = nil }
    #expect(scene.listener.health.count % 2 == 0)
    #expect(scene.listener.health.last.flatMap { $0 } == nil)
    #expect(await scene.accept(push("after")) == .accepted(seq: newest + 100 * 3 + 70_000 + 1))
    try await scene.reopen()
    let waiting = try await scene.load(Array(1...newest))
    #expect(waiting.count == accepted)
    #expect(await scene.accept(push("before7", to: [7, 1000])) == .duplicate(seq: 8))
    #expect(await scene.accept(push("filling0", payload: [UInt8](repeating: 0x20, count: 4000))).seq == nil)
}

private func closeWhileFull(_ folder: String) async throws {
    let scene = try await LedgerScene(folder)
    _ = await scene.accept(push("a"))
    limitFiles(to: 40_000)
    for index in 0..<3 {
        _ = await scene.accept(push("b\(index)", payload: [UInt8](repeating: 0x20, count: 60_000)))
    }
    scene.carryOut(scene.listener.messages[0])
    #expect(await scene.settled().fault != nil)
    await scene.ledger.close()
}

private func endWhileFull(_ folder: String) async throws {
    let scene = try await LedgerScene(folder)
    limitFiles(to: 40_000)
    for index in 0..<3 {
        _ = await scene.accept(push("b\(index)", payload: [UInt8](repeating: 0x20, count: 60_000)))
    }
    #expect(await scene.settled().fault != nil)
    let answer = Locked<UInt64??>(nil)
    scene.ledger.note([EventDraft(.deviceDeactivated, app: LedgerScene.shop)]) { number in
        answer.withLock { $0 = .some(number) }
    }
    scene.ledger.note([EventDraft(.connectionDown, app: LedgerScene.shop)], done: nil)
    await scene.settled()
    #expect(answer.withLock { $0 } == nil)
    scene.sqlite.beginEnd()
    // The ledger retries, whether or not there are new calls.
    while answer.withLock({ $0 }) == nil { await scene.settled() }
    #expect(answer.withLock { $0 } == .some(nil))
    // A note without a waiting caller may still be written.
    limitFiles(to: .max)
    await wait(while: await scene.settled().fault != nil)
    let last = try await scene.ledger.read(since: 0, limit: .max).segments.flatMap { try $0.events() }.last
    #expect(last?.topic == "connection/shop/down")
    await scene.ledger.close()
}

private func dropWhileFull(_ folder: String) async throws {
    let scene = try await LedgerScene(folder)
    try await scene.reopen()
    limitFiles(to: 40_000)
    for index in 0..<3 {
        _ = await scene.accept(push("b\(index)", payload: [UInt8](repeating: 0x20, count: 60_000)))
    }
    #expect(await scene.settled().fault != nil)
    let newest = await scene.settled().newest
    func note(_ count: Int) {
        scene.ledger.note(Array(repeating: EventDraft(.connectionDown, app: LedgerScene.shop), count: count), done: nil)
    }
    note(4000)
    note(4000)
    #expect(await scene.settled().droppedEvents == 0 && scene.droppedEvents.isEmpty)
    // At most 10,000 are kept; the oldest are dropped.
    note(4000)
    #expect(await scene.settled().droppedEvents == 4000 && scene.ledger.latest.droppedEvents == 4000)
    #expect(scene.droppedEvents == [4000])
    note(4000)
    #expect(await scene.settled().droppedEvents == 8000 && scene.ledger.latest.droppedEvents == 8000)
    #expect(scene.droppedEvents == [4000])
    limitFiles(to: .max)
    await wait(while: await scene.settled().fault != nil)
    #expect(scene.droppedEvents == [4000, 8000])
    #expect(await scene.settled().newest == newest + 8000)
    // Events that still wait when the ledger closes are lost too.
    limitFiles(to: 40_000)
    note(3)
    await scene.settled()
    #expect(scene.droppedEvents == [4000, 8000])
    await scene.ledger.close()
    #expect(scene.droppedEvents == [4000, 8000, 3])
}

/// Limits the size of files that this process writes.
func limitFiles(to bytes: UInt) {
    var limit = rlimit()
    getrlimit(__rlimit_resource_t(1), &limit)
    limit.rlim_cur = min(bytes, limit.rlim_max)
    setrlimit(__rlimit_resource_t(1), &limit)
}
