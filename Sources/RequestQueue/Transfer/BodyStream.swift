import Dispatch
import Foundation

/// A stream of a body. It reads files in pieces when the network takes them, so that memory does not grow with them.
///
/// Bodies of bytes are streams, too: URLSession on Linux rewinds only streams when it repeats a request on a new
/// connection, and would send the rest of a block of bytes as if it were all of it.
///
/// URLSession reads from one queue at a time.
final class BodyStream: InputStream {
    private let plan: BodyPlan
    private let failure: Locked<RequestError?>
    private var index = 0
    private var offset: Int64 = 0
    private var handle: FileHandle?
    private var status = Stream.Status.notOpen
    private weak var observer: (any StreamDelegate)?
    private var reads = 0
    private let freed = DispatchSemaphore(value: 0)

    /// Creates a stream that leaves the reason in `failure` if it cannot read.
    init(_ plan: BodyPlan, failure: Locked<RequestError?>) {
        self.plan = plan
        self.failure = failure
        super.init(data: Data())
    }

    override func open() { status = .open }

    override func close() {
        try? handle?.close()
        handle = nil
        status = .closed
    }

    override var streamStatus: Stream.Status { status }

    override var streamError: (any Error)? { failure.withLock { $0 } }

    override var delegate: (any StreamDelegate)? {
        get { observer }
        set { observer = newValue }
    }

    override var hasBytesAvailable: Bool { index < plan.pieces.count && status != .closed }

    override func property(forKey key: Stream.PropertyKey) -> PropertyValue? { nil }

    override func setProperty(_ property: PropertyValue?, forKey key: Stream.PropertyKey) -> Bool { false }

    override func schedule(in aRunLoop: RunLoop, forMode mode: RunLoop.Mode) {}

    override func remove(from aRunLoop: RunLoop, forMode mode: RunLoop.Mode) {}

    override func getBuffer(
        _ buffer: UnsafeMutablePointer<UnsafeMutablePointer<UInt8>?>, length len: UnsafeMutablePointer<Int>
    ) -> Bool { false }

    override func read(_ buffer: UnsafeMutablePointer<UInt8>, maxLength len: Int) -> Int {
        guard len > 0, hasBytesAvailable else { return 0 }
        waitForFreedBuffers()
        let piece = plan.pieces[index]
        let wanted = Int(min(Int64(len), piece.count - offset))
        let count: Int
        switch piece.part {
        case .bytes(let data):
            let start = data.startIndex + Int(offset)
            data.copyBytes(to: buffer, from: start..<(start + wanted))
            count = wanted
        case .file(let url):
            do {
                let data = try read(url, count: wanted)
                data.copyBytes(to: buffer, count: data.count)
                count = data.count
            } catch {
                return fail(BodyPlan.unreadable(url, reason: error.localizedDescription))
            }
            guard count > 0 else {
                return fail(BodyPlan.unreadable(url, reason: "it became shorter while it was sent"))
            }
        }
        offset += Int64(count)
        if offset == piece.count {
            index += 1
            offset = 0
            try? handle?.close()
            handle = nil
            if index == plan.pieces.count { status = .atEnd }
        }
        return count
    }

    private func read(_ url: URL, count: Int) throws -> Data {
        let handle = try self.handle ?? FileHandle(forReadingFrom: url)
        self.handle = handle
        return try handle.read(upToCount: count) ?? Data()
    }

    private func fail(_ error: RequestError) -> Int {
        failure.withLock { $0 = error }
        status = .error
        return -1
    }

    /// On Linux, URLSession frees the buffer of each read on a global queue, and reads on without waiting. On a busy
    /// machine, hundreds of megabytes would wait to be freed. An empty block behind them, once in 32 reads, bounds them.
    private func waitForFreedBuffers() {
        #if canImport(FoundationNetworking)
        reads &+= 1
        guard reads % 32 == 0 else { return }
        DispatchQueue.global().async { [freed] in freed.signal() }
        _ = freed.wait(timeout: .now() + .milliseconds(100))
        #endif
    }
}

#if canImport(FoundationNetworking)
typealias PropertyValue = AnyObject
#else
typealias PropertyValue = Any
#endif
