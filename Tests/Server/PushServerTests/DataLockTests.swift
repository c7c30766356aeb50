import Glibc
import PushConfiguration
import PushLoop
import TestSupport
import TestTraits
import Testing

@testable import PushServer

/// Tests of the lock, also with manipulated data directories and lock files.
@Suite(.waits) struct DataLockTests {
    @Test func `The advice about a directory that cannot be written names the cause`() {
        #expect(StartCheck.advice(SystemError(number: EROFS)) == "mount the file system for writing")
        #expect(StartCheck.advice(SystemError(number: EACCES)) == "use an account that may write there")
    }

    private func refusal(of directory: String) -> StartError? {
        do {
            _ = try DataLock(directory: directory)
            return nil
        } catch {
            return error
        }
    }

    @Test(arguments: [true, false])
    func `A lock file that is a link is rejected, and its target is not changed`(isSymbolic: Bool) throws {
        let directory = try TemporaryDirectory()
        let victim = try directory.write("victim", containing: "precious")
        let data = "\(directory.path)/data"
        #expect(mkdir(data, 0o700) == 0)
        let lock = "\(data)/\(DataLock.fileName)"
        #expect((isSymbolic ? symlink(victim, lock) : link(victim, lock)) == 0)
        let failure = try #require(refusal(of: data))
        #expect(failure.code == .notPermitted && failure.description.contains(lock), "\(failure)")
        var status = stat()
        #expect(stat(victim, &status) == 0 && status.st_size == 8)
    }

    @Test func `A named pipe in place of the lock file is rejected`() throws {
        let directory = try TemporaryDirectory()
        #expect(mkfifo("\(directory.path)/\(DataLock.fileName)", 0o600) == 0)
        #expect(refusal(of: directory.path)?.code == .notPermitted)
    }

    @Test(
        arguments: [(0o700, true), (0o755, true), (0o770, true), (0o777, false), (0o1777, false)] as [(mode_t, Bool)])
    func `A directory that every user may write to is rejected`(mode: mode_t, isTaken: Bool) throws {
        let directory = try TemporaryDirectory()
        #expect(chmod(directory.path, mode) == 0)
        let failure = refusal(of: directory.path)
        #expect((failure == nil) == isTaken, "\(String(describing: failure))")
        if let failure { #expect(failure.code == .notPermitted && failure.description.contains("chmod 700")) }
    }

    @Test func `A second lock is rejected, and the error names the process that holds the directory`() throws {
        let directory = try TemporaryDirectory()
        let data = "\(directory.path)/data"
        let lock = try DataLock(directory: data)
        var found = stat()
        #expect(stat(data, &found) == 0 && found.st_mode & 0o777 == 0o700)
        let failure = withExtendedLifetime(lock) { refusal(of: data) }
        #expect(failure?.code == .tryAgain)
        #expect(
            failure?.description.hasPrefix(
                "another Carillon (process \(getpid())) runs on the data directory \(data); stop it") == true)
    }

    @Test func `The lock is released with its holder`() throws {
        let directory = try TemporaryDirectory()
        do { _ = try DataLock(directory: directory.path) }
        _ = try DataLock(directory: directory.path)
        let file = try directory.write("file", containing: "")
        #expect(refusal(of: file)?.description.contains("data directory \(file)") == true)
    }
}
