import PushSQLite
import Testing

@Suite struct StatementHandleTests {
    @Test func `Values of all classes are bound and read`() throws {
        let database = try memory()
        let statement = try database.prepare("SELECT ?1, ?2, ?3, ?4, ?5")
        let bytes: [UInt8] = [0, 255]
        let text = Array("ü\u{0}b".utf8)
        var codes = [statement.bind(Int64.min, at: 1), statement.bind(0.5, at: 2), statement.bindNull(at: 5)]
        unsafe text.withUnsafeBytes { codes.append(unsafe statement.bindText(copying: $0, at: 3)) }
        unsafe bytes.withUnsafeBytes { codes.append(unsafe statement.bindBlob(copying: $0, at: 4)) }
        #expect(codes.allSatisfy { $0 == .ok })
        let hasRow = try statement.step()
        #expect(hasRow)
        let classes = (0..<5).map { statement.storageClass($0) }
        #expect(classes == [.integer, .real, .text, .blob, .null])
        let integer = statement.integer(0)
        let real = unsafe statement.value(1).real
        let asValue = unsafe statement.value(2).text.map { unsafe Array($0) }
        let asColumn = unsafe statement.text(2).map { unsafe Array($0) }
        let blob = unsafe Array(statement.blob(3))
        #expect(integer == .min && real == 0.5 && asValue == text && asColumn == text && blob == bytes)
        let nothing = unsafe (statement.value(4).text == nil, statement.blob(4).isEmpty)
        #expect(nothing == (true, true))
        let isDone = try !statement.step()
        #expect(isDone)
    }

    @Test func `Empty texts and blobs are not NULL`() throws {
        let database = try memory()
        let statement = try database.prepare("SELECT ?1, ?2, ?3, ?4")
        let empty = unsafe UnsafeRawBufferPointer(start: nil, count: 0)
        let codes = unsafe [
            statement.bindText(copying: empty, at: 1), statement.bindBlob(copying: empty, at: 2),
            statement.bindBlob(keeping: empty, at: 3),
        ]
        #expect(codes == [.ok, .ok, .ok])
        _ = try statement.step()
        let classes = (0..<4).map { statement.storageClass($0) }
        #expect(classes == [.text, .blob, .blob, .null])
    }

    @Test func `Rewinding keeps the parameters, and clearing sets them to NULL`() throws {
        let database = try memory()
        let statement = try database.prepare("SELECT ?1")
        _ = statement.bind(Int64(5), at: 1)
        _ = try statement.step()
        statement.rewind()
        _ = try statement.step()
        let kept = statement.integer(0)
        statement.rewind()
        statement.clearBindings()
        _ = try statement.step()
        let cleared = statement.storageClass(0)
        #expect(kept == 5 && cleared == .null)
    }

    @Test func `A failed bind returns a code from which an error can be made`() throws {
        let database = try memory()
        let statement = try database.prepare("SELECT ?1")
        let code = statement.bind(Int64(5), at: 2)
        #expect(code == .outOfRange)
        let failure = statement.failure(code)
        #expect(failure.code == .outOfRange)
        #expect(failure.message == "column index out of range")
    }

    @Test func `A statement that fails throws the extended code`() throws {
        let database = try memory()
        try database.execute("CREATE TABLE t (a UNIQUE); INSERT INTO t VALUES (1)")
        let statement = try database.prepare("INSERT INTO t VALUES (1)")
        do {
            _ = try statement.step()
            Issue.record("the row was inserted twice")
        } catch {
            #expect(error.code == .unique)
            #expect(error.primary == .constraint)
            #expect(error.message == "UNIQUE constraint failed: t.a")
        }
    }

    @Test func `Parameters and columns are described`() throws {
        let database = try memory()
        let statement = try database.prepare("SELECT :name AS a, 2 AS b")
        let described = (
            statement.parameterCount, statement.parameterIndex(":name"), statement.parameterIndex(":other"),
            statement.columnCount, statement.columnName(1), statement.isReadOnly
        )
        #expect(described == (1, 1, nil, 2, "b", true))
    }
}
