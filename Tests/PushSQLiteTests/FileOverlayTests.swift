import Foundation
import PushSQLite
import Testing

@Suite struct FileOverlayTests {
    /// A database with a thousand rows at `original`, and an overlay over it at `private/a.db`.
    private struct Scene {
        let original: String
        let path: String
        let overlay: FileOverlay

        init(in folder: String, log: Bool = false) throws {
            original = folder + "/a.db"
            path = folder + "/private/a.db"
            mkdir(folder + "/private", 0o700)
            let writer = try DatabaseHandle(path: original, mode: .readWrite(creates: true))
            writer.set(.keepsLogAtClose, to: true)
            try writer.execute(
                """
                PRAGMA journal_mode = WAL; CREATE TABLE t (a INTEGER PRIMARY KEY, b);
                WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM c WHERE x < 1000)
                INSERT INTO t SELECT x, randomblob(200) FROM c; PRAGMA wal_checkpoint(TRUNCATE)
                """)
            if log { try writer.execute("DELETE FROM t WHERE a > 900") }
            #expect(writer.close())
            if log { try FileManager.default.copyItem(atPath: original + "-wal", toPath: path + "-wal") }
            overlay = try #require(FileOverlay.lay(over: path, showing: open(original, O_RDONLY | O_CLOEXEC)))
        }

        /// The content and the times of all that is beside the original.
        func state() throws -> [String: String] {
            let folder = (original as NSString).deletingLastPathComponent
            var found: [String: String] = [:]
            for name in try FileManager.default.contentsOfDirectory(atPath: folder) where name != "private" {
                let bytes = try Data(contentsOf: URL(fileURLWithPath: "\(folder)/\(name)"))
                var status = stat()
                stat("\(folder)/\(name)", &status)
                found[name] = "\(bytes.hashValue) \(status.st_mtim) \(status.st_ctim) \(status.st_ino)"
            }
            return found
        }

        /// The bytes that the private file occupies.
        var occupied: Int {
            var status = stat()
            stat(path, &status)
            return Int(status.st_blocks) * 512
        }
    }

    @Test func `The content is read through it, and takes no space`() throws {
        try withFolder { folder in
            let scene = try Scene(in: folder)
            let before = try scene.state()
            let reader = try DatabaseHandle(path: scene.path, mode: .readWrite(creates: false))
            #expect(try reader.integers("SELECT count(*) FROM t") == [1000])
            #expect(try reader.integers("SELECT count(*) FROM pragma_integrity_check WHERE 1") == [1])
            #expect(scene.occupied == 0)
            #expect(reader.close())
            #expect(try scene.state() == before && !scene.overlay.hasChanged)
        }
    }

    @Test func `Its log is read, and all changes remain in the private file`() throws {
        try withFolder { folder in
            let scene = try Scene(in: folder, log: true)
            let before = try scene.state()
            let writer = try DatabaseHandle(path: scene.path, mode: .readWrite(creates: false))
            let reader = try DatabaseHandle(path: scene.path, mode: .readWrite(creates: false))
            #expect(try reader.integers("SELECT count(*) FROM t") == [900])
            try writer.execute("UPDATE t SET b = randomblob(200) WHERE a % 3 = 0; PRAGMA wal_checkpoint(TRUNCATE)")
            try writer.execute("INSERT INTO t SELECT a + 5000, b FROM t; PRAGMA wal_checkpoint(TRUNCATE)")
            #expect(try reader.integers("SELECT count(*) FROM t") == [1800])
            #expect(try reader.integers("SELECT count(*) FROM t x JOIN t y ON y.a = x.a + 5000 AND y.b = x.b") == [900])
            // The file becomes smaller, and grows again over what the original has there.
            try writer.execute("DELETE FROM t WHERE a > 10; VACUUM; PRAGMA wal_checkpoint(TRUNCATE)")
            try writer.execute(
                "INSERT INTO t SELECT a * 100 + 7, zeroblob(150000) FROM t; PRAGMA wal_checkpoint(TRUNCATE)")
            #expect(try reader.integers("SELECT count(*) FROM t WHERE b = zeroblob(150000)") == [10])
            for database in [reader, writer] {
                #expect(
                    try database.integers("SELECT count(*) FROM pragma_integrity_check WHERE integrity_check = 'ok'")
                        == [1])
            }
            #expect(reader.close() && writer.close())
            // It is opened again with what was written.
            let again = try DatabaseHandle(path: scene.path, mode: .readWrite(creates: false))
            #expect(try again.integers("SELECT count(*) FROM t") == [20])
            #expect(try scene.state() == before && !scene.overlay.hasChanged)
        }
    }

    @Test func `A change of the original is noticed by the next read`() throws {
        try withFolder { folder in
            let scene = try Scene(in: folder)
            let reader = try DatabaseHandle(path: scene.path, mode: .readWrite(creates: false))
            try reader.execute("PRAGMA cache_size = 1")
            #expect(try reader.integers("SELECT count(*) FROM t") == [1000])
            let other = try DatabaseHandle(path: scene.original, mode: .readWrite(creates: false))
            try other.execute("DELETE FROM t WHERE a < 500; PRAGMA wal_checkpoint(TRUNCATE)")
            let failure = #expect(throws: SQLiteFailure.self) { try reader.integers("SELECT sum(length(b)) FROM t") }
            #expect(failure?.primary == .inputOutput && scene.overlay.hasChanged)
        }
    }

    @Test func `Other files are not affected, and nothing is replaced`() throws {
        try withFolder { folder in
            let scene = try Scene(in: folder)
            let other = try DatabaseHandle(path: folder + "/b.db", mode: .readWrite(creates: true))
            try other.execute("CREATE TABLE t (a); INSERT INTO t VALUES (5)")
            #expect(try other.integers("SELECT a FROM t") == [5])
            let descriptor = open(scene.original, O_RDONLY)
            #expect(FileOverlay.lay(over: folder + "/b.db", showing: descriptor) == nil && errno == EEXIST)
            close(descriptor)
        }
    }
}
