import FoundationEssentials
import Glibc
import PushThread
import TestSupport
import Testing

/// Files that are replaced as a whole.
@Suite struct ReplacedFileTests {
    private let directory: TemporaryDirectory
    private var path: String { "\(directory.path)/mark.json" }

    init() throws {
        directory = try TemporaryDirectory()
    }

    private func names() throws -> [String] {
        try FileManager.default.contentsOfDirectory(atPath: directory.path).sorted()
    }

    @Test(arguments: [ReplacedFile.Durability.process, .content, .name])
    func `The new content replaces the earlier one, and only its owner can read it`(
        durability: ReplacedFile.Durability
    ) throws {
        try ReplacedFile.write(Array("a longer text".utf8), to: path, until: durability)
        try ReplacedFile.write(Array("short".utf8), to: path, until: durability)
        #expect(FileManager.default.contents(atPath: path) == Data("short".utf8))
        var status = stat()
        #expect(stat(path, &status) == 0 && status.st_mode & 0o777 == 0o600)
        try ReplacedFile.write([], to: path, until: durability)
        #expect(FileManager.default.contents(atPath: path) == Data())
        #expect(try names() == ["mark.json"])
    }

    @Test func `What a killed process has left is no obstacle, and a link is not followed`() throws {
        _ = try directory.write("mark.json.new", containing: "half of a lo")
        try ReplacedFile.write(Array("whole".utf8), to: path, until: .process)
        let other = try directory.write("other", containing: "mine")
        for name in [path, "\(path).new"] {
            unlink(name)
            #expect(symlink(other, name) == 0)
        }
        try ReplacedFile.write(Array("new".utf8), to: path, until: .process)
        #expect(FileManager.default.contents(atPath: path) == Data("new".utf8))
        #expect(FileManager.default.contents(atPath: other) == Data("mine".utf8))
        #expect(try names() == ["mark.json", "other"])
    }

    @Test func `On a full disk the earlier file stays, and nothing else`() throws {
        try ReplacedFile.write(Array("earlier".utf8), to: path, until: .name)
        #expect(throws: SystemError(number: ENOSPC)) {
            try ReplacedFile.write(Array("later".utf8), to: path, until: .name) { file in
                let full = open("/dev/full", O_WRONLY | O_CLOEXEC)
                dup2(full, file)
                close(full)
            }
        }
        #expect(FileManager.default.contents(atPath: path) == Data("earlier".utf8))
        #expect(try names() == ["mark.json"])
    }

    @Test func `A directory that does not exist, or has the name, is an error`() throws {
        #expect(throws: SystemError(number: ENOENT)) {
            try ReplacedFile.write([1], to: "\(directory.path)/missing/mark.json", until: .process)
        }
        #expect(throws: SystemError(number: EISDIR)) {
            try ReplacedFile.write([1], to: directory.path, until: .process)
        }
        #expect(try names() == [])
        #expect(!FileManager.default.fileExists(atPath: "\(directory.path).new"))
    }
}
