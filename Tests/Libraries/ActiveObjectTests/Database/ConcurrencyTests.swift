import Foundation
import Testing

@testable import ActiveObject

@Suite struct ConcurrencyTests {
    @Test func `A long read sees one state while a thousand writes are committed`() async throws {
        var options = Database.Options()
        options.durability = .normal
        try await withDatabase(options) { database in
            var note = Jot("before")
            try await note.save(in: database)
            let (isIn, mayGo) = (Occasion(), Occasion())
            let reading = Task {
                try await database.read { snapshot in
                    // Nothing has been read yet, but the state is already that of the beginning.
                    isIn.happen()
                    mayGo.block()
                    return try Jot.findAll(in: snapshot).map(\.text)
                }
            }
            await isIn.wait()
            for number in 0..<1000 {
                try await database.write { transaction in
                    var note = Jot("\(number)")
                    try note.save(in: transaction)
                }
            }
            // The other reader sees all rows, the first one none.
            #expect(try await database.texts().count == 1001)
            mayGo.happen()
            #expect(try await reading.value == ["before"])
            #expect(try await database.texts().count == 1001)
        }
    }

    @Test func `Readers do not see an open transaction`() async throws {
        try await withDatabase { database in
            var note = Jot("old")
            try await note.save(in: database)
            let saved = note
            let (isIn, mayGo) = (Occasion(), Occasion())
            let writing = Task {
                try await database.write { transaction in
                    var note = saved
                    note.text = "new"
                    try note.save(in: transaction)
                    isIn.happen()
                    mayGo.block()
                }
            }
            await isIn.wait()
            for _ in 0..<50 { #expect(try await database.texts() == ["old"]) }
            mayGo.happen()
            try await writing.value
            #expect(try await database.texts() == ["new"])
        }
    }

    @Test func `Calls beyond the limit are rejected until there is room again`() async throws {
        var options = Database.Options()
        options.maxWaitingCalls = 3
        options.readers = 1
        try await withDatabase(options) { database in
            for isWriting in [true, false] {
                let (isIn, mayGo) = (Occasion(), Occasion())
                let running = Task {
                    if isWriting {
                        try await database.write { _ in
                            isIn.happen()
                            mayGo.block()
                        }
                    } else {
                        try await database.read { _ in
                            isIn.happen()
                            mayGo.block()
                        }
                    }
                }
                await isIn.wait()
                let others = (0..<10).map { _ in
                    Task {
                        await thrownCode {
                            if isWriting {
                                try await database.write { _ in }
                            } else {
                                try await database.read { _ in }
                            }
                        }
                    }
                }
                // Rejected calls return while the first call still runs.
                var codes: [ActiveObjectError.Code?] = []
                await withTaskGroup(of: ActiveObjectError.Code?.self) { group in
                    for task in others { group.addTask { await task.value } }
                    for _ in 0..<7 { codes.append(await group.next() ?? nil) }
                    mayGo.happen()
                    for await code in group { codes.append(code) }
                }
                try await running.value
                #expect(codes == Array(repeating: .busy, count: 7) + Array(repeating: nil, count: 3))
            }
            try await database.write { _ in }
        }
    }

    @Test func `A read that misses a table created after its start runs again`() async throws {
        struct Late: ActiveRecord {
            var objectId: Int64?
            var number = 1
        }
        try await withDatabase { database in
            let (isIn, mayGo) = (Occasion(), Occasion())
            let reading = Task {
                try await database.read { snapshot in
                    isIn.happen()
                    mayGo.block()
                    return try Late.findAll(in: snapshot).count
                }
            }
            await isIn.wait()
            var late = Late()
            try await late.save(in: database)
            mayGo.happen()
            #expect(try await reading.value == 1)
        }
    }

    @Test func `A missing table is created even if the closure ignores the error`() async throws {
        try await withDatabase { database in
            let found = try await database.read { (try? Jot.findAll(in: $0))?.count }
            #expect(found == 0)
        }
    }

    @Test func `Random concurrent transfers keep the total balance`() async throws {
        var options = Database.Options()
        options.durability = .normal
        options.readers = 3
        options.checkpointPages = 20
        try await withDatabase(options) { database in
            try await database.write { transaction in
                _ = try transaction.texts(
                    of: "CREATE TABLE accounts (id INTEGER PRIMARY KEY, money INTEGER NOT NULL) STRICT")
                for id in 0..<10 { _ = try transaction.texts(of: "INSERT INTO accounts VALUES (\(id), 100)") }
            }
            try await withThrowingTaskGroup(of: Void.self) { group in
                for writer in 0..<4 {
                    group.addTask {
                        for number in 0..<100 {
                            let (from, to) = ((writer + number) % 10, (writer * 3 + number * 7) % 10)
                            try await database.write { transaction in
                                _ = try transaction.texts(
                                    of: "UPDATE accounts SET money = money - 3 WHERE id = \(from)")
                                _ = try transaction.texts(of: "UPDATE accounts SET money = money + 3 WHERE id = \(to)")
                            }
                        }
                    }
                    group.addTask {
                        for _ in 0..<100 {
                            let (sum, again) = try await database.read { snapshot in
                                let sum = try snapshot.texts(of: "SELECT sum(money) FROM accounts")
                                let ids = try snapshot.texts(of: "SELECT money FROM accounts").compactMap { Int($0) }
                                return (sum, ids.reduce(0, +))
                            }
                            #expect(sum == ["1000"] && again == 1000)
                        }
                    }
                }
                try await group.waitForAll()
            }
        }
    }
}
