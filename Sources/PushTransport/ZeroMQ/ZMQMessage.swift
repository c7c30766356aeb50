private import CZeroMQ
private import Glibc

/// A received message, lent for as long as its handler runs. What is to last longer is taken with `take`.
@safe
package struct ZMQMessage: ~Copyable {
    private let frames: UnsafeMutablePointer<zmq_msg_t>
    /// The frames at hand.
    package let count: Int

    fileprivate init(frames: UnsafeMutablePointer<zmq_msg_t>, count: Int) {
        unsafe self.frames = frames
        self.count = count
    }

    package func byteCount(ofFrame index: Int) -> Int {
        unsafe zmq_msg_size(frame(index))
    }

    /// The bytes of a frame, valid while `body` runs.
    package func withBytes<Result, Failure: Error>(
        ofFrame index: Int, _ body: (UnsafeRawBufferPointer) throws(Failure) -> Result
    ) throws(Failure) -> Result {
        let frame = unsafe frame(index)
        return unsafe try body(UnsafeRawBufferPointer(start: zmq_msg_data(frame), count: zmq_msg_size(frame)))
    }

    /// A copy of the bytes of a frame.
    package func copied(_ index: Int) -> [UInt8] {
        unsafe withBytes(ofFrame: index) { unsafe [UInt8]($0) }
    }

    /// Takes a frame to keep, without copying its bytes. In the message an empty frame stays behind.
    package func take(_ index: Int) -> ZMQFrame {
        unsafe ZMQFrame(taking: UnsafeMutableRawPointer(frame(index)))
    }

    /// The name that the ZAP handler gave to the sender's key; nil where there was no authentication. Ask before the
    /// last frame is taken: the name goes with it.
    package var userID: String? { property(Self.userIDProperty) }
    private static let userIDProperty = "User-Id"

    /// The bytes of that name, valid while `body` runs; empty where there is none. This makes no copy.
    package func withUserID<Result>(_ body: (UnsafeRawBufferPointer) -> Result) -> Result {
        guard let value = unsafe zmq_msg_gets(frame(count - 1), Self.userIDProperty) else {
            return unsafe body(UnsafeRawBufferPointer(start: nil, count: 0))
        }
        return unsafe body(UnsafeRawBufferPointer(start: value, count: strlen(value)))
    }

    /// The sender's address, as in "192.0.2.7"; nil over inproc. Ask before the last frame is taken.
    package var peerAddress: String? { property("Peer-Address") }

    /// Whether a peer sent it over a connection. What an XPUB tells by itself when a connection has ended comes without the
    /// properties that each handshake brings. Over inproc there are none.
    var isFromPeer: Bool { property("Socket-Type") != nil }

    /// The descriptor of the connection that it came by, which libzmq owns and may have closed meanwhile; nil where
    /// libzmq does not say.
    var sourceDescriptor: CInt? {
        let descriptor = unsafe zmq_msg_get(frame(count - 1), ZMQ_SRCFD)
        return descriptor >= 0 ? descriptor : nil
    }

    private func property(_ name: String) -> String? {
        guard let value = unsafe zmq_msg_gets(frame(count - 1), name) else { return nil }
        let text = unsafe String(cString: value)
        return text.isEmpty ? nil : text
    }

    private func frame(_ index: Int) -> UnsafeMutablePointer<zmq_msg_t> {
        precondition(index >= 0 && index < count, "frame \(index) of a message of \(count)")
        return unsafe frames + index
    }
}

/// Where the frames of a received message lie, used again for each message.
@safe
struct ZMQInbox: ~Copyable {
    /// More frames than this are read and dropped. One slot more than that takes what is dropped.
    static let maxFrames = 16

    enum Outcome {
        case message(frames: Int)
        /// A message of more frames than there may be; the first are at hand.
        case oversized(frames: Int)
        case empty
        case terminated
        case failed(CInt)
    }

    private let frames: UnsafeMutablePointer<zmq_msg_t>
    /// Where `bytesOnWire` is kept.
    private let tally: UnsafeMutablePointer<Int>
    private let overhead: Int

    /// - Parameter overhead: bytes that each frame takes on the wire besides its own and the header: with keys, those of
    ///   its encryption.
    init(overhead: Int = 0) {
        self.overhead = overhead
        unsafe tally = .allocate(capacity: 1)
        unsafe tally.initialize(to: 0)
        unsafe frames = .allocate(capacity: Self.maxFrames + 1)
        for index in 0...Self.maxFrames {
            unsafe zmq_msg_init(frames + index)
        }
    }

    deinit {
        for index in 0...Self.maxFrames {
            unsafe zmq_msg_close(frames + index)
        }
        unsafe frames.deallocate()
        unsafe tally.deallocate()
    }

    /// What the message that was read last took on the wire (ZMTP 3), or less: those frames included that were dropped.
    var bytesOnWire: Int { unsafe tally.pointee }

    /// A header has one byte for the length of a short frame, and eight for that of a long one.
    func bytesOnWire(ofFrame size: Int) -> Int {
        let body = size + overhead
        return body + (body > 255 ? 9 : 2)
    }

    /// Reads one whole message, or one frame of it. What the slots held before is freed by libzmq as they are filled
    /// again.
    func receive(from socket: UnsafeMutableRawPointer, waits: Bool = false, frameByFrame: Bool = false) -> Outcome {
        var count = 0
        unsafe tally.pointee = 0
        while true {
            let slot = unsafe frames + min(count, Self.maxFrames)
            let size = unsafe zmq_msg_recv(slot, socket, waits ? 0 : ZMQ_DONTWAIT)
            if size < 0 {
                switch zmq_errno() {
                case EINTR: continue
                // In the midst of a message this means that its sender went; what came of it is worth nothing.
                case EAGAIN: return .empty
                // Not this socket's turn to receive: for REQ and REP the same as nothing to receive.
                case EFSM: return .empty
                case ETERM: return .terminated
                // Closed by its owner, in a handler.
                case ENOTSOCK where !waits: return .terminated
                case let number: return .failed(number)
                }
            }
            count += 1
            unsafe tally.pointee += bytesOnWire(ofFrame: Int(size))
            if unsafe frameByFrame || zmq_msg_more(slot) == 0 {
                return count <= Self.maxFrames ? .message(frames: count) : .oversized(frames: count)
            }
        }
    }

    /// The message that `receive` read last. The caller lets go of it before it receives again.
    func message(frames count: Int) -> ZMQMessage {
        unsafe ZMQMessage(frames: frames, count: min(count, Self.maxFrames))
    }

    /// Frees what the slots hold.
    func clear(frames count: Int) {
        for index in 0..<min(count, Self.maxFrames + 1) {
            unsafe zmq_msg_close(frames + index)
            unsafe zmq_msg_init(frames + index)
        }
    }
}
