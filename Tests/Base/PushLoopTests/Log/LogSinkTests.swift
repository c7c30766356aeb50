import Glibc
import Testing

@testable import PushLoop

/// Log lines for a reader that stalls.
@Suite struct LogSinkTests {
    private struct Pipe {
        let read: CInt
        let write: CInt

        init() {
            var ends: [CInt] = [0, 0]
            precondition(pipe(&ends) == 0)
            (read, write) = (ends[0], ends[1])
            // The smallest pipe: 4096 bytes.
            let setSize: CInt = 1031  // F_SETPIPE_SZ
            precondition(fcntl(write, setSize, 4096) >= 0)
        }

        /// Reads that number of lines.
        func lines(_ count: Int) -> [String] {
            var bytes: [UInt8] = []
            var buffer = [UInt8](repeating: 0, count: 4096)
            while bytes.count(where: { $0 == UInt8(ascii: "\n") }) < count {
                let got = Glibc.read(read, &buffer, buffer.count)
                guard got > 0 else { break }
                bytes += buffer[..<got]
            }
            return String(decoding: bytes, as: UTF8.self).split(separator: "\n").map(String.init)
        }

        func close() {
            Glibc.close(read)
            Glibc.close(write)
        }
    }

    private func line(_ number: Int) -> [UInt8] {
        Array("\(number) \(String(repeating: "x", count: 990))\n".utf8)
    }

    @Test func `A reader that stalls stops nobody, and gets all lines in their order`() {
        let pipe = Pipe()
        let sink = LogSink(descriptor: pipe.write)
        for number in 0..<100 { sink.write(line(number)) }
        #expect(pipe.lines(100).map { $0.prefix { $0 != " " } } == (0..<100).map { "\($0)" })
        #expect(sink.lostLineCount == 0)
        pipe.close()
    }

    @Test func `Lines beyond the bound are lost and counted, and the log says so`() {
        let pipe = Pipe()
        let sink = LogSink(descriptor: pipe.write, room: 10_000)
        for number in 0..<100 { sink.write(line(number)) }
        let lost = sink.lostLineCount
        #expect(lost > 80 && lost < 100)
        #expect(sink.takeLoss() == 0)
        // A line that comes when another one was just written finds room.
        let left = pipe.lines(100 - Int(lost)).map { Int($0.prefix { $0 != " " }) ?? -1 }
        #expect(left.count == 100 - Int(lost) && left == left.sorted() && left.prefix(3) == [0, 1, 2])
        let output = LogOutput(
            sink: sink, format: .text(colors: false), level: .info, limit: nil,
            clock: { (WallTime(milliseconds: 0), MonotonicTime(nanoseconds: 0)) })
        Logger("x", to: output).info("again")
        let said = pipe.lines(2)
        #expect(said.first?.contains("log lines lost") == true && said.first?.hasSuffix("count=\(lost)") == true)
        #expect(said.last?.hasSuffix("again") == true)
        pipe.close()
    }
}
