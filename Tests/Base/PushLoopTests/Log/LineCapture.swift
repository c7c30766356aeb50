import Glibc
import Testing

@testable import PushLoop

/// An unlinked temporary file that an output writes to.
final class LineCapture: Sendable {
    let descriptor: CInt

    init() throws {
        var path = Array("/tmp/carillon-log-XXXXXX".utf8CString)
        descriptor = mkstemp(&path)
        try #require(descriptor >= 0)
        _ = fcntl(descriptor, F_SETFD, FD_CLOEXEC)
        unlink(path)
    }

    deinit {
        close(descriptor)
    }

    var text: String {
        var bytes: [UInt8] = []
        var chunk = [UInt8](repeating: 0, count: 65_536)
        while true {
            let count = pread(descriptor, &chunk, chunk.count, bytes.count)
            if count <= 0 { break }
            bytes += chunk[..<count]
        }
        return String(decoding: bytes, as: UTF8.self)
    }

    var lines: [Substring] { text.split(separator: "\n") }
}

/// 2026-03-01T09:30:00.250Z
let testTime = WallTime(milliseconds: 1_772_357_400_250)

extension LogOutput {
    /// Creates an output without a rate limit and with a clock that stands still.
    convenience init(
        _ capture: LineCapture, format: LogFormat, level: LogLevel = .trace, lineLength: Int = maxLineLength
    ) {
        self.init(
            sink: LogSink(descriptor: capture.descriptor), format: format, level: level, limit: nil,
            maxLineLength: lineLength,
            clock: { (testTime, MonotonicTime(nanoseconds: 0)) })
    }
}

extension LogKey {
    static let peerText = LogKey("peer_text")
    static let values = LogKey("values")
}
