import Glibc
import TestSupport
import Testing

@testable import carillon

/// The data directory and the lock file in it, where others had a hand in them.
@Suite(.timeLimit(.minutes(10))) struct DataLockTests {
    private func refusal(of directory: String) -> Failure? {
        do {
            _ = try DataLock(directory: directory)
            return nil
        } catch {
            return error
        }
    }

    @Test(arguments: [true, false])
    func `a lock file that leads elsewhere empties no other file`(isSymbolic: Bool) throws {
        let directory = try TemporaryDirectory()
        let victim = try directory.write("victim", "precious")
        let data = "\(directory.path)/data"
        #expect(mkdir(data, 0o700) == 0)
        let lock = "\(data)/\(DataLock.fileName)"
        #expect((isSymbolic ? symlink(victim, lock) : link(victim, lock)) == 0)
        let failure = try #require(refusal(of: data))
        #expect(failure.code == .notPermitted && failure.description.contains(lock), "\(failure)")
        var status = stat()
        #expect(stat(victim, &status) == 0 && status.st_size == 8)
    }

    @Test func `a named pipe in its place is refused`() throws {
        let directory = try TemporaryDirectory()
        #expect(mkfifo("\(directory.path)/\(DataLock.fileName)", 0o600) == 0)
        #expect(refusal(of: directory.path)?.code == .notPermitted)
    }

    @Test(
        arguments: [(0o700, true), (0o755, true), (0o770, true), (0o777, false), (0o1777, false)] as [(mode_t, Bool)])
    func `a directory that every user may write to is refused`(mode: mode_t, isTaken: Bool) throws {
        let directory = try TemporaryDirectory()
        #expect(chmod(directory.path, mode) == 0)
        let failure = refusal(of: directory.path)
        #expect((failure == nil) == isTaken, "\(String(describing: failure))")
        if let failure { #expect(failure.code == .notPermitted && failure.description.contains("chmod 700")) }
    }
}
