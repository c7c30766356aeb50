import PushConfiguration
import PushModel
import TestSupport
import Testing

@testable import PushServer

@Suite struct ExpiryRecordTests {
    @Test func `Announced expiries are stored and read, and a damaged record is rejected`() throws {
        let directory = try TemporaryDirectory()
        let record = ExpiryRecord(directory: directory.path)
        #expect(try record.read().isEmpty)
        _ = try directory.write(
            ExpiryRecord.fileName,
            containing:
                #"[{"app":"shop","days":7,"not_after_ms":1800000000000},{"app":"news","days":1,"not_after_ms":1}]"#)
        let said = try record.read()
        #expect(said.map(\.name) == ["shop", "news"])
        #expect(said.map(\.window.days) == [7, 1])
        #expect(said.map(\.notAfter.milliseconds) == [1_800_000_000_000, 1])
        try record.write([])
        #expect(try record.read().isEmpty)
        try record.write(said)
        #expect(try record.read() == said)
        for text in ["", "{", "[{\"app\":1}]", "null"] {
            _ = try directory.write(ExpiryRecord.fileName, containing: text)
            #expect(throws: (any Error).self, "\(text)") { try record.read() }
        }
        _ = try directory.write(ExpiryRecord.fileName, containing: #"{"v":2,"announced":[]}"#)
        let newer = #expect(throws: StartError.self) { try record.read() }
        #expect(newer?.description.contains("newer Carillon (version 2)") == true)
        // A window that only a later version knows is ignored.
        _ = try directory.write(ExpiryRecord.fileName, containing: #"[{"app":"shop","days":90,"not_after_ms":1}]"#)
        #expect(try record.read().isEmpty)
    }
}
