import FoundationEssentials
import Glibc
import PushTime
import TestSupport
import Testing

@testable import PushServer

/// The file in which a backup leaves its time.
@Suite struct BackupRecordTests {
    private let directory: TemporaryDirectory
    private let record: BackupRecord

    init() throws {
        directory = try TemporaryDirectory()
        record = BackupRecord(in: directory.path)
    }

    private let time = WallTime(milliseconds: 1_795_406_580_000)

    @Test func `The last backup replaces the one before`() throws {
        #expect(record.last == .never)
        record.write("/backup/1", endedAt: WallTime(milliseconds: 5))
        record.write("/backup/2", endedAt: time)
        #expect(record.last == .ended(time))
        #expect(
            FileManager.default.contents(atPath: directory.path + "/backup.json").map {
                String(decoding: $0, as: UTF8.self)
            }
                == "{\"backup\":\"/backup/2\",\"ended_at\":1795406580000,\"v\":1}\n")
        #expect(try FileManager.default.contentsOfDirectory(atPath: directory.path) == ["backup.json"])
    }

    @Test(arguments: [
        "", "x", "[]", "{\"v\":2,\"ended_at\":5,\"backup\":\"\"}", String(repeating: " ", count: 1 << 17),
    ])
    func `A file that is not one of this version tells nothing`(_ text: String) throws {
        _ = try directory.write("backup.json", containing: text)
        #expect(record.last == .unknown)
        record.write("/backup", endedAt: time)
        #expect(record.last == .ended(time))
    }

    @Test func `Links are replaced and not followed`() throws {
        let other = try directory.write("other", containing: "mine")
        for name in ["backup.json", "backup.json.new"] {
            symlink(other, "\(directory.path)/\(name)")
        }
        record.write("/backup", endedAt: time)
        #expect(record.last == .ended(time))
        #expect(FileManager.default.contents(atPath: other).map { String(decoding: $0, as: UTF8.self) } == "mine")
    }

    @Test func `A directory that does not exist or cannot be written is no fault`() {
        BackupRecord(in: directory.path + "/none").write("/backup", endedAt: time)
        #expect(BackupRecord(in: directory.path + "/none").last == .never)
    }
}
