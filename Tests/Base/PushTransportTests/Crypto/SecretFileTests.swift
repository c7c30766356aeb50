import Glibc
import PushTransport
import TestSupport
import TestTraits
import Testing

/// Files with keys: which are read, and which cause a warning.
@Suite(.waits) struct SecretFileTests {
    @Test func `A named pipe is rejected at once`() throws {
        let directory = try TemporaryDirectory()
        let path = "\(directory.path)/key.pem"
        #expect(mkfifo(path, 0o600) == 0)
        // A blocking open would wait here until somebody writes to the pipe.
        #expect {
            try BoundedFile.read(path, limit: 1024)
        } throws: { error in
            (error as? CryptoError)?.code == .unreadableFile && "\(error)".contains("it is a named pipe")
        }
    }

    @Test(arguments: ["/dev/zero", "/tmp"])
    func `A file that is not regular is rejected`(path: String) {
        #expect { try BoundedFile.read(path, limit: 1024) } throws: { "\($0)".contains("not a regular file") }
    }

    @Test func `A symbolic link to a regular file is followed`() throws {
        let directory = try TemporaryDirectory()
        let file = try directory.write("key.pem", containing: "text")
        let link = "\(directory.path)/link.pem"
        #expect(symlink(file, link) == 0)
        #expect(try BoundedFile.read(link, limit: 1024) == Array("text".utf8))
    }

    @Test(
        arguments: [
            (0o600, nil), (0o400, nil), (0o640, nil), (0o604, "every user may read"), (0o644, "every user may read"),
            (0o660, "other users may change"), (0o602, "other users may change"),
        ] as [(mode_t, String?)])
    func `Permissions that are too wide cause a warning`(mode: mode_t, words: String?) throws {
        let directory = try TemporaryDirectory()
        let file = try directory.write("key.pem", containing: "secret")
        #expect(chmod(file, mode) == 0)
        let cautions = SecretFile.cautions([file, file, "\(directory.path)/missing"])
        #expect(cautions.count == (words == nil ? 0 : 1))
        if let words { #expect(cautions.first?.contains(words) == true, "\(cautions)") }
    }
}
