import FoundationEssentials
import PushConfiguration
import TestSupport
import Testing

@testable import PushServer

/// The exchange of files of a restore. A kill after any of its steps leaves a directory that the next lock completes.
@Suite struct RestoreSwapTests {
    private static let earlier = "before-restore-20260101T000000Z"
    private static let old = ["ledger.db", "ledger.db-wal", "registry.db", "running.json"]
    private static let new = ["ledger.db", "registry.db", "api.key"]

    private struct Place {
        let directory: TemporaryDirectory

        init() throws {
            directory = try TemporaryDirectory()
            try FileManager.default.createDirectory(
                atPath: directory.path + "/restore.ready", withIntermediateDirectories: true)
        }

        func put(_ name: String, _ text: String) throws { _ = try directory.write(name, containing: text) }

        func text(_ name: String) -> String? {
            let bytes = FileManager.default.contents(atPath: "\(directory.path)/\(name)")
            return bytes.map { String(decoding: $0, as: UTF8.self) }
        }

        var names: [String] {
            (try? FileManager.default.contentsOfDirectory(atPath: directory.path).sorted()) ?? []
        }
    }

    /// The steps in order: each old file moves away, then the mark, then each new file, then the name goes.
    @Test(arguments: 0...9)
    func `A restore that was killed after any step is completed by the next lock`(step: Int) throws {
        let place = try Place()
        var step = step
        func isDone() -> Bool {
            defer { step -= 1 }
            return step > 0
        }
        try FileManager.default.createDirectory(
            atPath: "\(place.directory.path)/\(Self.earlier)", withIntermediateDirectories: true)
        for name in Self.old { try place.put(isDone() ? "\(Self.earlier)/\(name)" : name, "old \(name)") }
        if isDone() { try place.put("\(Self.earlier)/complete", "") }
        for name in Self.new { try place.put(isDone() ? name : "restore.ready/\(name)", "new \(name)") }
        if !isDone() { try place.put("restore.ready/earlier", Self.earlier) }
        do {
            let lock = try DataLock(directory: place.directory.path)
            withExtendedLifetime(lock) {}
        }
        for name in Self.old { #expect(place.text("\(Self.earlier)/\(name)") == "old \(name)") }
        for name in Self.new { #expect(place.text(name) == "new \(name)") }
        #expect(place.names == (["carillon.lock", Self.earlier] + Self.new).sorted())
        // A second lock changes nothing.
        _ = try DataLock(directory: place.directory.path)
        #expect(place.text("ledger.db") == "new ledger.db")
    }

    @Test func `A restore into an empty directory keeps no earlier files`() throws {
        let place = try Place()
        for name in Self.new { try place.put("restore.ready/\(name)", "new \(name)") }
        _ = try DataLock(directory: place.directory.path)
        #expect(place.names == (["carillon.lock"] + Self.new).sorted())
    }

    @Test func `What is being restored and is not complete changes nothing`() throws {
        let place = try Place()
        try FileManager.default.moveItem(
            atPath: place.directory.path + "/restore.ready", toPath: place.directory.path + "/restore.partial")
        try place.put("restore.partial/ledger.db", "half")
        try place.put("ledger.db", "old")
        _ = try DataLock(directory: place.directory.path)
        #expect(place.text("ledger.db") == "old")
        // It takes no room any longer.
        #expect(place.names == ["carillon.lock", "ledger.db"])
    }

    @Test func `A link in the place of what is being restored is not followed`() throws {
        let place = try Place()
        let other = try Place()
        try other.put("mine.txt", "mine")
        try FileManager.default.removeItem(atPath: place.directory.path + "/restore.ready")
        try FileManager.default.createSymbolicLink(
            atPath: place.directory.path + "/restore.partial", withDestinationPath: other.directory.path)
        _ = try DataLock(directory: place.directory.path)
        #expect(other.text("mine.txt") == "mine")
    }

    @Test(arguments: ["..", "/etc", "before-restore-/../..", "before-restore-\u{0}", ""])
    func `A name that leads elsewhere is refused`(name: String) throws {
        let place = try Place()
        try place.put("restore.ready/ledger.db", "new")
        try place.put("restore.ready/earlier", name)
        try place.put("ledger.db", "old")
        #expect(throws: StartError.self) { _ = try DataLock(directory: place.directory.path) }
        #expect(place.text("ledger.db") == "old" && place.text("restore.ready/ledger.db") == "new")
    }
}
