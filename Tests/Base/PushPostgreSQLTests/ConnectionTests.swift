import PushLoop
import TestSupport
import TestTraits
import Testing

@testable import PushPostgreSQL

@Suite(.waits) struct ConnectionTests {
    private static let insert = PostgreSQLStatement(
        "insert", sql: "INSERT INTO item (number, body) VALUES ($1, $2) RETURNING number", parameters: [.int8, .bytea])

    private static func append(_ number: Int64, body: [UInt8] = [], to section: PostgreSQLSection) {
        section.call(insert) {
            $0.append(int8: number)
            $0.append(bytea: body)
        }
    }

    @Test func `10,000 sections are answered in order`() async throws {
        let connection = try await TestConnection.shared()
        let replies = EventRecorder<Int64>()
        await connection.with { connection in
            let sender = Sender(connection, count: 10_000, replies: replies)
            sender.fill()
        }
        let numbers = await replies.wait(count: 10_000)
        #expect(numbers == Array(0..<10_000))
        #expect(try await connection.text("SELECT count(*) FROM item") == "10000")
        await connection.close()
    }

    /// Keeps sections in flight. A reply that is not the expected one ends it, and the test then times out.
    private final class Sender {
        private let connection: PostgreSQLConnection
        private let section = PostgreSQLSection()
        private let count: Int64
        private let replies: EventRecorder<Int64>
        private var next: Int64 = 0

        init(_ connection: PostgreSQLConnection, count: Int64, replies: EventRecorder<Int64>) {
            self.connection = connection
            self.count = count
            self.replies = replies
        }

        func fill() {
            while next < count, connection.hasRoom(forBytes: 8) {
                section.clear()
                ConnectionTests.append(next, to: section)
                next += 1
                connection.send(section, timeout: .seconds(120)) { [self] reply in
                    guard let row = try? reply.results()[0].row(), let number = try? row.value(0, as: Int64.self) else {
                        return
                    }
                    replies.record(number)
                    fill()
                }
            }
        }
    }

    @Test func `An error undoes its section, and not those around it`() async throws {
        let connection = try await TestConnection.shared()
        let numbers: [[Int64]] = [[1], [2, 1, 3], [4, 5]]
        let writes = numbers.map { numbers -> @Sendable (PostgreSQLSection) -> Void in
            { section in for number in numbers { Self.append(number, to: section) } }
        }
        let replies = await connection.send(all: writes)
        #expect(try replies[0].results().count == 1)
        let refusal = try #require(replies[1].refusal)
        #expect(refusal.sqlState == .uniqueViolation && refusal.constraint == "item_pkey")
        #expect(try replies[2].results().count == 2)
        #expect(try await connection.text("SELECT string_agg(number::text, ',' ORDER BY number) FROM item") == "1,4,5")
        await connection.close()
    }

    @Test func `An error of the commit refuses the section`() async throws {
        let connection = try await TestConnection.shared()
        _ = try await connection.run(
            "CREATE TEMP TABLE part (number int8 REFERENCES item DEFERRABLE INITIALLY DEFERRED)"
        ).results()
        let insertion = PostgreSQLStatement.once(sql: "INSERT INTO part VALUES (7)")
        let replies = await connection.send(
            all: [{ $0.call(insertion) }, { Self.append(7, to: $0) }, { $0.call(insertion) }])
        #expect(replies[0].refusal?.sqlState == .foreignKeyViolation)
        #expect(try replies[1].results().count == 1)
        #expect(try replies[2].results()[0].affectedRows == 1)
        #expect(try await connection.text("SELECT count(*) FROM part") == "1")
        await connection.close()
    }

    @Test func `A statement that cannot be prepared is the reason, and is prepared once it can`() async throws {
        let connection = try await TestConnection.shared()
        let statement = PostgreSQLStatement("later", sql: "SELECT count(*) FROM later")
        let replies = await connection.send(all: [{ $0.call(statement) }, { $0.call(statement) }])
        #expect(replies.map(\.refusal?.sqlState) == [.unknownTable, .unknownTable])
        _ = try await connection.run("CREATE TEMP TABLE later ()").results()
        for _ in 0..<3 { #expect(try await connection.send { $0.call(statement) }.results()[0].rowCount == 1) }
        let prepared = await connection.run("SELECT count(*) FROM pg_prepared_statements WHERE name LIKE 'later-%'")
        #expect(try prepared.results()[0].row().value(0, as: Int64.self) == 1)
        await connection.close()
    }

    @Test func `A failed section does not keep another from preparing its statements`() async throws {
        let connection = try await TestConnection.shared()
        let replies = await connection.send(all: [
            { section in
                section.call(.once(sql: "SELECT 1/0"))
                Self.append(1, to: section)
            },
            { Self.append(2, to: $0) },
        ])
        #expect(replies[0].refusal?.sqlState.rawValue == "22012")
        #expect(try replies[1].results()[0].row().value(0, as: Int64.self) == 2)
        await connection.close()
    }

    @Test func `A section of 60 MB is written and read`() async throws {
        let connection = try await TestConnection.shared()
        let size = 60 << 20
        var written = [UInt8](repeating: 0, count: size)
        for index in stride(from: 0, to: size, by: 4096) { written[index] = UInt8(index >> 12 & 255) }
        let body = written
        let reply = await connection.send { section in
            section.call(Self.insert) { parameters in
                parameters.append(int8: 1)
                parameters.append(bytea: body)
            }
        }
        #expect(try reply.results()[0].row().value(0, as: Int64.self) == 1)
        #expect(try await connection.text("SELECT length(body) FROM item") == "\(size)")
        let read = try await connection.run("SELECT body FROM item").results()[0].row()
        #expect(try read.withBytes(0) { $0.elementsEqual(body) })
        await connection.close()
    }

    @Test func `Both sides may send much at once`() async throws {
        let connection = try await TestConnection.shared()
        // Neither side could go on if it did not read while it writes.
        let statement = PostgreSQLStatement("echo-bytes", sql: "SELECT $1::bytea", parameters: [.bytea])
        let body = [UInt8](repeating: 0, count: 8 << 20)
        await withTaskGroup(of: Int?.self) { group in
            for _ in 0..<16 {
                group.addTask {
                    let reply = await connection.send { section in
                        section.call(statement) { $0.append(bytea: body) }
                    }
                    return try? reply.results()[0].row().withBytes(0) { $0.count }
                }
            }
            for await count in group { #expect(count == 8 << 20) }
        }
        await connection.close()
    }

    @Test func `Sections beyond the limits are refused at once`() async throws {
        let connection = try await TestConnection.shared(limits: .init(maxSections: 2, maxBytes: 1000))
        let large = await connection.send { Self.append(1, body: [UInt8](repeating: 0, count: 1001), to: $0) }
        #expect(large.notSent?.contains("exceeds the limit") == true)
        let replies = EventRecorder<String>()
        await connection.with { connection in
            let section = PostgreSQLSection()
            section.call(.once(sql: "SELECT 1"))
            for _ in 0..<3 {
                connection.send(section, timeout: .seconds(60)) { replies.record($0.notSent ?? "sent") }
            }
            #expect(replies.events.isEmpty, "a reply came from within the call")
            #expect(!connection.hasRoom(forBytes: 0) && connection.sectionsInFlight == 2)
        }
        let all = await replies.wait(count: 3)
        #expect(all.filter { $0 == "sent" }.count == 2)
        #expect(all.contains { $0.contains("2 sections are in flight") })
        await connection.close()
    }

    @Test func `A section with wrong parameters is not sent`() async throws {
        let connection = try await TestConnection.shared()
        let reply = await connection.send { section in section.call(Self.insert) { $0.append(int8: 1) } }
        #expect(reply.notSent?.contains("has 2 parameters; the section gives it 1") == true)
        #expect(await connection.send { _ in }.notSent == "the section is empty")
        #expect(try await connection.run("SELECT 1").results().count == 1)
        await connection.close()
    }

    @Test func `A section may be written again as soon as it is sent`() async throws {
        let connection = try await TestConnection.shared()
        let replies = EventRecorder<Bool>()
        await connection.with { connection in
            let section = PostgreSQLSection()
            for number in 0..<10 as Range<Int64> {
                section.clear()
                ConnectionTests.append(number, body: [UInt8](repeating: UInt8(number), count: 100_000), to: section)
                connection.send(section, timeout: .seconds(60)) { replies.record((try? $0.results()) != nil) }
            }
        }
        #expect(await replies.wait(count: 10).allSatisfy { $0 })
        let wrong =
            "SELECT count(*) FROM item WHERE body <> decode(repeat(lpad(to_hex(number), 2, '0'), 100000), 'hex')"
        #expect(try await connection.text(wrong) == "0")
        await connection.close()
    }

    @Test func `Notices reach the owner`() async throws {
        let connection = try await TestConnection.shared()
        #expect(try await connection.run("DO $$ BEGIN RAISE NOTICE 'ding'; END $$").results().count == 1)
        let notices = await connection.notices.wait(count: 1)
        #expect(notices.first?.severity == "NOTICE" && notices.first?.message == "ding")
        await connection.close()
    }

    @Test func `COPY ends the connection and not the process`() async throws {
        let connection = try await TestConnection.shared()
        let reply = await connection.run("COPY item TO STDOUT")
        #expect(reply.unknown != nil || reply.refusal != nil)
        await connection.close()
    }

    @Test func `Closing answers what is in flight`() async throws {
        let connection = try await TestConnection.shared()
        async let reply = connection.run("SELECT pg_sleep(600)")
        await wait(while: await connection.with({ $0.sectionsInFlight }) == 0)
        await connection.with { $0.close() }
        #expect(await reply.unknown == "the connection was closed")
        #expect(await connection.run("SELECT 1").notSent?.contains("not open") == true)
        #expect(connection.closures.events.isEmpty)
        await connection.close()
    }

    @Test func `A missing library is a named error`() async throws {
        let error = #expect(throws: PostgreSQLError.self) { try LibPQ(library: "libpq-missing.so.5") }
        #expect(error?.message.hasPrefix("libpq-missing.so.5 cannot be loaded: ") == true)
        #expect(error?.message.contains("libpq5") == true)
        let other = #expect(throws: PostgreSQLError.self) { try LibPQ(library: "libm.so.6") }
        #expect(other?.message.contains("lacks the function PQconnectStartParams") == true)
        #expect(throws: Never.self) { try LibPQ(library: "libpq.so.5") }
    }
}
