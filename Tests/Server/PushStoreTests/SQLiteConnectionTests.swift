import Foundation
import TestTraits
import Testing

@testable import PushStore

@Suite(.waits) struct SQLiteConnectionTests {
    @Test func `A failed bind makes the statement fail once, and the next run succeeds`() throws {
        let connection = try SQLiteConnection(":memory:")
        try connection.run("CREATE TABLE t (id INTEGER PRIMARY KEY, body BLOB)")
        let add = try connection.prepare("INSERT INTO t (id, body) VALUES (?, ?)")
        for bind in [{ add.bind(3, 7 as Int64) }, { add.bind(3, [1] as [UInt8]) }, { add.bind(3, "text") }] {
            add.bind(1, 1 as Int64)
            bind()
            #expect(throws: StoreError.self) { try add.run() }
        }
        add.bind(1, 1 as Int64)
        add.bind(2, [1, 2] as [UInt8])
        try add.run()
        // A statement that is not reset accepts no parameters. Otherwise it would return the previous row again.
        let find = try connection.prepare("SELECT id, body FROM t WHERE id = ?")
        find.bind(1, 1 as Int64)
        #expect(try find.step())
        find.bind(1, 2 as Int64)
        #expect(throws: StoreError.self) { _ = try find.step() }
        find.bind(1, 1 as Int64)
        #expect(try find.step())
        #expect(find.blob(1) == [1, 2])
        find.reset()
    }
    @Test func `A path that begins like a URI is a path`() throws {
        let file = FileManager.default.temporaryDirectory.appending(path: "ledger-\(UUID().uuidString).db").path()
        defer { try? FileManager.default.removeItem(atPath: file) }
        // As a URI, it would name the file in the temporary folder.
        let error = #expect(throws: StoreError.self) { _ = try SQLiteConnection("file:\(file)") }
        #expect(error?.code == .cannotOpen)
        #expect(!FileManager.default.fileExists(atPath: file))
    }
}
