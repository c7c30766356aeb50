import PushLoop
import PushTime
import TestSupport
import TestTraits
import Testing

@testable import PushPostgreSQL

@Suite(.waits) struct ValueTests {
    /// Sends each value as a parameter, and returns them as the server sends them back.
    private static let echo = PostgreSQLStatement(
        "echo",
        sql: "SELECT $1::bool, $2::int4, $3::int8, $4::text, $5::bytea, $6::timestamptz, $7::int4[], $8::int8[], "
            + "$9::bytea[], $10::text[]",
        parameters: [
            .bool, .int4, .int8, .text, .bytea, .timestamptz, .int4Array, .int8Array, .byteaArray, .textArray,
        ])

    @Test func `Values of every type survive both ways`() async throws {
        let connection = try await TestConnection.shared()
        var random = SeededRandom(seed: 5)
        for round in 0..<200 {
            let flag = Bool.random(using: &random)
            let int4 = [Int32.min, -1, 0, 1, .max, .random(in: .min ... .max, using: &random)].randomElement(
                using: &random)!
            let int8 = [Int64.min, -1, 0, 1, .max, .random(in: .min ... .max, using: &random)].randomElement(
                using: &random)!
            let text = ["", "ä€🔔", "a'b\"c\\d{}", "NULL", String(repeating: "x", count: 5000)].randomElement(
                using: &random)!
            let bytes = random.bytes(round * 37 % 3000)
            let time = PostgreSQLTimestamp(
                microseconds: .random(in: -1_000_000_000_000_000...1_000_000_000_000_000, using: &random))
            let count = round % 5
            let int4s = (0..<count).map { _ in Int32.random(in: .min ... .max, using: &random) }
            let int8s = (0..<count).map { _ in Int64.random(in: .min ... .max, using: &random) }
            let blobs = (0..<count).map { random.bytes($0 * 100) }
            let texts = (0..<count).map { ["", "ü", "a,b", "{}", "NULL"][$0] }
            let reply = await connection.send { section in
                section.call(Self.echo) {
                    $0.append(bool: flag)
                    $0.append(int4: int4)
                    $0.append(int8: int8)
                    $0.append(text: text)
                    $0.append(bytea: bytes)
                    $0.append(timestamp: time)
                    $0.append(int4Array: int4s)
                    $0.append(int8Array: int8s)
                    $0.appendByteaArray { array in
                        for blob in blobs { blob.withUnsafeBytes { array.append($0) } }
                    }
                    $0.append(textArray: texts)
                }
            }
            let row = try reply.results()[0].row()
            #expect(try row.value(0, as: Bool.self) == flag)
            #expect(try row.value(1, as: Int32.self) == int4)
            #expect(try row.value(1, as: Int64.self) == Int64(int4))
            #expect(try row.value(2, as: Int64.self) == int8)
            #expect(try row.value(3, as: String.self) == text)
            #expect(try row.value(4, as: [UInt8].self) == bytes)
            #expect(try row.withBytes(4) { $0.count } == bytes.count)
            #expect(try row.value(5, as: PostgreSQLTimestamp.self) == time)
            #expect(try row.value(6, as: [Int32].self) == int4s)
            #expect(try row.value(7, as: [Int64].self) == int8s)
            #expect(try row.value(8, as: [[UInt8]].self) == blobs)
            #expect(try row.value(9, as: [String].self) == texts)
            var read: [[UInt8]] = []
            try row.forEachBytes(8) { read.append(Array($0)) }
            #expect(read == blobs)
        }
        await connection.close()
    }

    @Test func `Values agree with what the server prints`() async throws {
        let connection = try await TestConnection.shared()
        let statement = PostgreSQLStatement(
            "print",
            sql: "SELECT concat_ws('|', $1::int8, $2::bytea, $3::timestamptz, $4::int4[], $5::text[], $6::bool)",
            parameters: [.int8, .bytea, .timestamptz, .int4Array, .textArray, .bool])
        let reply = await connection.send { section in
            section.call(statement) {
                $0.append(int8: -5)
                $0.append(bytea: [0, 255])
                $0.append(timestamp: PostgreSQLTimestamp(WallTime(milliseconds: 1_700_000_000_123)))
                $0.append(int4Array: [1, -2])
                $0.append(textArray: ["a b", ""])
                $0.append(bool: true)
            }
        }
        let text = try reply.results()[0].row().value(0, as: String.self)
        #expect(text == "-5|\\x00ff|2023-11-14 22:13:20.123+00|{1,-2}|{\"a b\",\"\"}|t")
        await connection.close()
    }

    @Test func `Nulls and wrong types are errors`() async throws {
        let connection = try await TestConnection.shared()
        let reply = await connection.run(
            """
            SELECT NULL::int4 AS nothing, 5::int4 AS five, 1.5::float8, ARRAY[1, NULL]::int4[], ARRAY[[1, 2], [3, 4]]::int4[],
                ARRAY[NULL]::bytea[], 'x'::varchar, 7::int2
            """)
        let result = try reply.results()[0]
        let row = try result.row()
        #expect(try row.optional(0, as: Int32.self) == nil)
        #expect(try row.optional(1, as: Int32.self) == 5)
        #expect(try row.value(2, as: Double.self) == 1.5)
        #expect(try row.value(6, as: String.self) == "x")
        #expect(try row.value(7, as: Int64.self) == 7)
        func error<Value: PostgreSQLReadable>(_ column: Int, _ type: Value.Type) -> String {
            #expect(throws: PostgreSQLValueError.self) { try row.value(column, as: type) }?.message ?? ""
        }
        #expect(error(0, Int32.self) == "column 0 (nothing) is null")
        #expect(error(1, String.self) == "column 1 (five) has the type int4; expected text or varchar or name")
        #expect(error(1, Bool.self).contains("int4; expected bool"))
        #expect(error(3, [Int32].self).contains("invalid value"))
        #expect(error(4, [Int32].self).contains("invalid value"))
        #expect(error(5, [[UInt8]].self).contains("invalid value"))
        #expect(error(8, Int32.self).contains("no column 8"))
        #expect(error(-1, Int32.self).contains("no column -1"))
        #expect(throws: PostgreSQLValueError.self) { try row.forEachBytes(5) { _ in } }
        #expect(throws: PostgreSQLValueError.self) { try row.withBytes(1) { _ in } }
        #expect(throws: PostgreSQLValueError.self) { try result.row(1) }
        #expect(throws: PostgreSQLValueError.self) { try result.row(-1) }
        await connection.close()
    }

    @Test func `A null parameter is null, and an empty one is not`() async throws {
        let connection = try await TestConnection.shared()
        let statement = PostgreSQLStatement(
            "nulls", sql: "SELECT $1::text IS NULL, $2::text IS NULL, $3::bytea IS NULL",
            parameters: [.text, .text, .bytea])
        let reply = await connection.send { section in
            section.call(statement) {
                $0.appendNull()
                $0.append(text: "")
                $0.append(bytea: [])
            }
        }
        let row = try reply.results()[0].row()
        #expect(try row.value(0, as: Bool.self))
        #expect(try !row.value(1, as: Bool.self))
        #expect(try !row.value(2, as: Bool.self))
        await connection.close()
    }

    @Test func `Malformed arrays are rejected, and never read beyond their end`() {
        var random = SeededRandom(seed: 9)
        var parameters = PostgreSQLParameters()
        parameters.append(byteaArray: [[1, 2, 3], [], [4]])
        let valid = Array(UnsafeRawBufferPointer(start: parameters.buffer.start, count: parameters.buffer.count))
        valid.withUnsafeBytes { #expect([[UInt8]](postgreSQL: $0) == [[1, 2, 3], [], [4]]) }
        for count in 0..<valid.count {
            valid[..<count].withUnsafeBytes { #expect([[UInt8]](postgreSQL: $0) == nil) }
        }
        for _ in 0..<RunKind.rounds(20_000) {
            random.mutate(valid, chance: 1).withUnsafeBytes { bytes in
                guard let values = [[UInt8]](postgreSQL: bytes) else { return }
                #expect(values.reduce(0) { $0 + $1.count } <= bytes.count)
            }
        }
        for (bytes, length) in [([UInt8](), 0), ([2], 1), ([1, 0], 2)] {
            bytes.withUnsafeBytes { #expect(Bool(postgreSQL: $0) == nil, "\(length) bytes") }
        }
    }

    @Test func `Times saturate`() {
        #expect(PostgreSQLTimestamp(WallTime.distantFuture).microseconds == .max)
        #expect(PostgreSQLTimestamp(WallTime.distantPast).microseconds == .min)
        #expect(PostgreSQLTimestamp(microseconds: .max).wallTime == .distantFuture)
        #expect(PostgreSQLTimestamp(microseconds: .min).wallTime == .distantPast)
        #expect(PostgreSQLTimestamp(microseconds: -1).wallTime == WallTime(milliseconds: 946_684_799_999))
    }
}
