private import CZeroMQ
private import Glibc

/// A received message, borrowed for the duration of its handler.
@safe
package struct ZMQMessage: ~Copyable {
    private let frames: UnsafeMutablePointer<zmq_msg_t>
    /// The number of available frames.
    package let count: Int

    fileprivate init(frames: UnsafeMutablePointer<zmq_msg_t>, count: Int) {
        unsafe self.frames = frames
        self.count = count
    }

    package func byteCount(ofFrame index: Int) -> Int {
        unsafe zmq_msg_size(frame(index))
    }

    /// Calls `body` with the bytes of a frame, which are valid during the call.
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

    /// The user id that the ZAP handler assigned to the sender's key, or nil without authentication.
    package var userID: String? { property(Self.userIDProperty) }
    private static let userIDProperty = "User-Id"

    /// Calls `body` with the bytes of the user id, or with none if there is no user id. The bytes are not copied.
    package func withUserID<Result>(_ body: (UnsafeRawBufferPointer) -> Result) -> Result {
        guard let value = unsafe zmq_msg_gets(frame(count - 1), Self.userIDProperty) else {
            return unsafe body(UnsafeRawBufferPointer(start: nil, count: 0))
        }
        return unsafe body(UnsafeRawBufferPointer(start: value, count: strlen(value)))
    }

    /// The address of the sender, as in "192.0.2.7", or nil for inproc.
    package var peerAddress: String? { property("Peer-Address") }

    /// Whether a peer sent the message over a connection. Messages that an XPUB creates when a connection ends do not
    /// have the properties of a handshake. Messages over inproc do not have them either.
    var isFromPeer: Bool { property("Socket-Type") != nil }

    /// The descriptor of the connection that received the message, or nil if libzmq does not report it. libzmq owns it
    /// and may have closed it meanwhile.
    package var sourceDescriptor: CInt? {
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

/// The memory for the frames of a received message, reused for each message.
@safe
struct ZMQInbox: ~Copyable {
    /// The maximum number of frames. Further frames are read and dropped; one extra slot receives them.
    static let maxFrames = 16

    enum Outcome {
        case message(frames: Int)
        /// A message with too many frames. The first ones are available.
        case oversized(frames: Int)
        case empty
        case terminated
        case failed(CInt)
    }

    private let frames: UnsafeMutablePointer<zmq_msg_t>
    /// The storage of ``bytesOnWire``.
    private let tally: UnsafeMutablePointer<Int>
    private let overhead: Int

    /// - Parameter overhead: The number of bytes that encryption adds to each frame on the wire, besides the header.
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

    /// The size of the last received message on the wire (ZMTP 3), or less. It includes dropped frames.
    var bytesOnWire: Int { unsafe tally.pointee }

    /// Returns the size of a frame on the wire. The length in its header takes one byte for a short frame and eight for
    /// a long one.
    func bytesOnWire(ofFrame size: Int) -> Int {
        let body = size + overhead
        return body + (body > 255 ? 9 : 2)
    }

    /// Returns the memory that the last received message takes while it waits, about: libzmq keeps 64 bytes for each of
    /// its frames.
    func memory(frames count: Int) -> Int { bytesOnWire &+ 64 &* count }

    /// Receives a complete message, or one frame of it. libzmq frees the previous content of the slots when they are
    /// filled again.
    func receive(from socket: UnsafeMutableRawPointer, waits: Bool = false, frameByFrame: Bool = false) -> Outcome {
        var count = 0
        unsafe tally.pointee = 0
        while true {
            let slot = unsafe frames + min(count, Self.maxFrames)
            let size = unsafe zmq_msg_recv(slot, socket, waits ? 0 : ZMQ_DONTWAIT)
            if size < 0 {
                switch zmq_errno() {
                case EINTR: continue
                // Within a message, this means that the sender has disconnected. The received part is dropped.
                case EAGAIN: return .empty
                // The socket is in the wrong state to receive. For REQ and REP this is the same as no message.
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

    /// Returns the message that ``receive(from:waits:frameByFrame:)`` read last. The caller must release it before the
    /// next call.
    func message(frames count: Int) -> ZMQMessage {
        unsafe ZMQMessage(frames: frames, count: min(count, Self.maxFrames))
    }

    /// Frees the content of the slots.
    func clear(frames count: Int) {
        for index in 0..<min(count, Self.maxFrames + 1) {
            unsafe zmq_msg_close(frames + index)
            unsafe zmq_msg_init(frames + index)
        }
    }
}
