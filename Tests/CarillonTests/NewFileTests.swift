import Glibc
import Testing

@testable import carillon

@Suite struct NewFileTests {
    private static let bytes = Array("the text of a private key".utf8)

    @Test("A write that is interrupted or partial continues where it stopped")
    func partialWritesContinue() {
        var written: [UInt8] = []
        var calls = 0
        let isComplete = NewFile.writeAll(Self.bytes, to: 7) { descriptor, start, count in
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
        #expect(isComplete)
        #expect(written == Self.bytes)
        #expect(calls == 10)
    }

    @Test("A write that fails or writes nothing is reported", arguments: [-1, 0])
    func failedWritesAreReported(result: Int) {
        var calls = 0
        let isComplete = NewFile.writeAll(Self.bytes, to: 7) { _, _, count in
            calls += 1
            errno = ENOSPC
            return calls == 1 ? 4 : result
        }
        #expect(!isComplete)
        #expect(calls == 2)
    }
}
