import FoundationEssentials
import Glibc
import PushThread
import TestSupport
import Testing

/// Files that are written as a whole.
@Suite struct WholeFileTests {
    private let directory: TemporaryDirectory
    private var path: String { "\(directory.path)/mark.json" }

    init() throws {
        directory = try TemporaryDirectory()
    }

    private func names() throws -> [String] {
        try FileManager.default.contentsOfDirectory(atPath: directory.path).sorted()
    }

    @Test(arguments: [WholeFile.Durability.process, .content, .name])
    func `The new content replaces the earlier one, and only its owner can read it`(
        durability: WholeFile.Durability
    ) throws {
        try WholeFile.write(Array("a longer text".utf8), to: path, until: durability)
        try WholeFile.write(Array("short".utf8), to: path, until: durability)
        #expect(FileManager.default.contents(atPath: path) == Data("short".utf8))
        var status = stat()
        #expect(stat(path, &status) == 0 && status.st_mode & 0o777 == 0o600)
        try WholeFile.write([], to: path, until: durability)
        #expect(FileManager.default.contents(atPath: path) == Data())
        #expect(try names() == ["mark.json"])
    }

    @Test func `What a killed process has left is no obstacle, and a link is not followed`() throws {
        _ = try directory.write("mark.json.new", containing: "half of a lo")
        try WholeFile.write(Array("whole".utf8), to: path, until: .process)
        let other = try directory.write("other", containing: "mine")
        for name in [path, "\(path).new"] {
            unlink(name)
            #expect(symlink(other, name) == 0)
        }
        try WholeFile.write(Array("new".utf8), to: path, until: .process)
        #expect(FileManager.default.contents(atPath: path) == Data("new".utf8))
        #expect(FileManager.default.contents(atPath: other) == Data("mine".utf8))
        #expect(try names() == ["mark.json", "other"])
    }

    @Test func `On a full disk the earlier file stays, and nothing else`() throws {
        try WholeFile.write(Array("earlier".utf8), to: path, until: .name)
        #expect(throws: SystemError(number: ENOSPC)) {
            try WholeFile.write(Array("later".utf8), to: path, until: .name) { file in
                let full = open("/dev/full", O_WRONLY | O_CLOEXEC)
                dup2(full, file)
                close(full)
            }
        }
        #expect(FileManager.default.contents(atPath: path) == Data("earlier".utf8))
        #expect(try names() == ["mark.json"])
    }

    @Test func `A file is created once, and only its owner can read it`() throws {
        #expect(try WholeFile.create(Array("first".utf8), at: path, until: .name))
        #expect(try !WholeFile.create(Array("second".utf8), at: path, until: .name))
        #expect(FileManager.default.contents(atPath: path) == Data("first".utf8))
        var status = stat()
        #expect(stat(path, &status) == 0 && status.st_mode & 0o777 == 0o600 && status.st_nlink == 1)
        #expect(try names() == ["mark.json"])
    }

    @Test func `A link that leads nowhere is a name that is taken, and its target is not written`() throws {
        let target = "\(directory.path)/target"
        #expect(symlink(target, path) == 0)
        #expect(try !WholeFile.create([1], at: path, until: .content))
        #expect(try names() == ["mark.json"])
    }

    @Test func `A draft that cannot be written is an error, and not a name that is taken`() throws {
        let draft = WholeFile.draft(of: path, by: .several)
        #expect(mkdir(draft, 0o700) == 0)
        #expect(throws: SystemError(number: EEXIST)) { try WholeFile.create([1], at: path, until: .content) }
        #expect(throws: SystemError(number: EEXIST)) {
            try WholeFile.write([1], to: path, by: .several, until: .content)
        }
        #expect(!FileManager.default.fileExists(atPath: path))
    }

    @Test func `Processes that write the same file have drafts of their own`() throws {
        let other = try directory.write("mark.json.new", containing: "of another process")
        try WholeFile.write(Array("mine".utf8), to: path, by: .several, until: .process)
        #expect(FileManager.default.contents(atPath: path) == Data("mine".utf8))
        #expect(FileManager.default.contents(atPath: other) == Data("of another process".utf8))
    }

    @Test func `A directory that does not exist, or has the name, is an error`() throws {
        #expect(throws: SystemError(number: ENOENT)) {
            try WholeFile.write([1], to: "\(directory.path)/missing/mark.json", until: .process)
        }
        #expect(throws: SystemError(number: EISDIR)) {
            try WholeFile.write([1], to: directory.path, until: .process)
        }
        #expect(try names() == [])
        #expect(!FileManager.default.fileExists(atPath: "\(directory.path).new"))
    }
}
