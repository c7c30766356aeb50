#if canImport(FoundationNetworking)
import Dispatch
import Foundation

/// The stream of a body for URLSession on Linux, which reads it from one queue at a time.
///
/// Bodies of bytes are streams, too: URLSession on Linux rewinds only streams when it repeats a request on a new
/// connection, and would send the rest of a block of bytes as if it were all of it.
final class BodyStream: InputStream {
    private let reader: BodyReader
    private var status = Stream.Status.notOpen
    private weak var observer: (any StreamDelegate)?
    private var reads = 0
    private let freed = DispatchSemaphore(value: 0)

    init(_ reader: BodyReader) {
        self.reader = reader
        super.init(data: Data())
    }

    override func open() { status = .open }

    override func close() {
        reader.close()
        status = .closed
    }

    override var streamStatus: Stream.Status { status }

    override var streamError: (any Error)? { reader.problem }

    override var delegate: (any StreamDelegate)? {
        get { observer }
        set { observer = newValue }
    }

    override var hasBytesAvailable: Bool { reader.hasBytes && status != .closed }

    override func property(forKey key: Stream.PropertyKey) -> AnyObject? { nil }

    override func setProperty(_ property: AnyObject?, forKey key: Stream.PropertyKey) -> Bool { false }

    override func schedule(in aRunLoop: RunLoop, forMode mode: RunLoop.Mode) {}

    override func remove(from aRunLoop: RunLoop, forMode mode: RunLoop.Mode) {}

    override func getBuffer(
        _ buffer: UnsafeMutablePointer<UnsafeMutablePointer<UInt8>?>, length len: UnsafeMutablePointer<Int>
    ) -> Bool { false }

    override func read(_ buffer: UnsafeMutablePointer<UInt8>, maxLength len: Int) -> Int {
        guard hasBytesAvailable else { return 0 }
        waitForFreedBuffers()
        let count = reader.read(into: buffer, length: len)
        if count < 0 { status = .error } else if !reader.hasBytes { status = .atEnd }
        return count
    }

    /// URLSession frees the buffer of each read on a global queue, and reads on without waiting. On a busy machine,
    /// hundreds of megabytes would wait to be freed. An empty block behind them, once in 32 reads, bounds them.
    private func waitForFreedBuffers() {
        reads &+= 1
        guard reads % 32 == 0 else { return }
        DispatchQueue.global().async { [freed] in freed.signal() }
        _ = freed.wait(timeout: .now() + .milliseconds(500))
    }
}
#endif
