import Foundation
import Testing

@testable import ActiveObject

@Suite struct DiskFullTests {
    /// Runs in a child process, because the limit applies to a whole process.
    @Test func `A file size limit neither loses nor splits a transaction`() async throws {
        await #expect(processExitsWith: .success) {
            try await withFolder { folder in
                signal(SIGXFSZ, SIG_IGN)
                let database = try await Database.open(folder + "/a.db", name: nil)
                var limit = rlimit()
                getrlimit(__rlimit_resource_t(1), &limit)
                let usual = limit
                limit.rlim_cur = 600_000
                setrlimit(__rlimit_resource_t(1), &limit)
                try await fillUp(database) {
                    var limit = usual
                    setrlimit(__rlimit_resource_t(1), &limit)
                }
            }
        }
    }

    @Test(.enabled(if: FullDisk.canMount)) func `A full disk neither loses nor splits a transaction`()
        async throws
    {
        try await withFolder { folder in
            guard let disk = FullDisk(folder, megabytes: 1) else { throw FullDisk.NotMounted() }
            let database = try await Database.open(folder + "/a.db", name: nil)
            try await fillUp(database) { disk.grow(megabytes: 16) }
        }
    }
}

/// Writes until there is no space, frees space, and continues to write.
private func fillUp(_ database: Database, thenMakeRoom makeRoom: () -> Void) async throws {
    let large = String(repeating: "x", count: 10_000)
    var saved = 0
    var failure: ActiveObjectError?
    while failure == nil, saved < 10_000 {
        let number = saved
        failure = await thrownError {
            try await database.write { transaction in
                for part in 0..<3 {
                    var note = Jot("\(number).\(part) \(large)")
                    try note.save(in: transaction)
                }
            }
        }
        if failure == nil { saved += 1 }
    }
    #expect(failure?.code == .diskFull, "\(failure?.message ?? "no failure")")
    #expect(saved > 0)
    // A closure that ignores the error must not commit a part of the transaction.
    for _ in 0..<3 {
        let again = await thrownCode {
            try await database.write { transaction in
                for _ in 0..<50 {
                    var note = Jot("half \(large)")
                    try? note.save(in: transaction)
                }
                var note = Jot("half")
                try note.save(in: transaction)
            }
        }
        #expect(again == .diskFull)
    }
    func expectWhole() async throws {
        let texts = try await database.texts().map { $0.prefix { $0 != " " } }
        #expect(texts == (0..<saved).flatMap { number in (0..<3).map { "\(number).\($0)" } })
        let damage = try await database.integrityCheck()
        #expect(damage == [])
    }
    try await expectWhole()
    makeRoom()
    try await expectWhole()
    var note = Jot("after")
    try await note.save(in: database)
    try await database.checkpoint(.truncate)
    #expect(try await database.texts().last == "after")
    await database.close()
}

/// A file system in memory that is mounted on a folder. Needs permission to mount, which most containers do not have.
struct FullDisk: ~Copyable {
    struct NotMounted: Error {}

    private let folder: String

    static let canMount = {
        guard geteuid() == 0 else { return false }
        let folder = "/tmp/carillon-disk-\(getpid())"
        mkdir(folder, 0o700)
        defer { rmdir(folder) }
        return FullDisk(folder, megabytes: 1) != nil
    }()

    init?(_ folder: String, megabytes: Int) {
        guard Self.run("mount -t tmpfs -o size=\(megabytes)m tmpfs '\(folder)'") else { return nil }
        self.folder = folder
    }

    deinit {
        _ = Self.run("umount -l '\(folder)'")
    }

    func grow(megabytes: Int) {
        _ = Self.run("mount -o remount,size=\(megabytes)m '\(folder)'")
    }

    func allowReadingOnly() -> Bool {
        Self.run("mount -o remount,ro '\(folder)'")
    }

    private static func run(_ command: String) -> Bool {
        system(command + " 2>/dev/null") == 0
    }
}
