import Glibc
import PushThread
import Testing

@Suite struct FileCallsTests {
    private static let bytes = Array("the text of a private key".utf8)

    @Test("A write that is interrupted or partial continues where it stopped")
    func partialWritesContinue() throws {
        var written: [UInt8] = []
        var calls = 0
        try FileCalls.write(Self.bytes, to: 7) { descriptor, start, count in
            #expect(descriptor == 7)
            calls += 1
            if calls % 3 == 2 {
                errno = EINTR
                return -1
            }
            let part = UnsafeRawBufferPointer(start: start, count: min(count, 4))
            written += part
            return part.count
        }
        #expect(written == Self.bytes)
        #expect(calls == 10)
    }

    @Test("A write that fails or writes nothing is reported", arguments: [(-1, EDQUOT), (0, ENOSPC)])
    func failedWritesAreReported(result: Int, number: CInt) {
        var calls = 0
        #expect(throws: SystemError(number: number)) {
            try FileCalls.write(Self.bytes, to: 7) { _, _, count in
                calls += 1
                errno = EDQUOT
                return calls == 1 ? 4 : result
            }
        }
        #expect(calls == 2)
    }

    @Test("The directory of a path", arguments: [("/a/b", "/a"), ("/a", "/"), ("a", "."), ("a/b", "a")])
    func directories(path: String, directory: String) {
        #expect(FileCalls.directory(of: path) == directory)
    }
}
