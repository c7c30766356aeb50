private import CZeroMQ

/// The result of sending a message.
package enum ZMQSendResult: Hashable, Sendable {
    /// libzmq has accepted the message: it is queued for a peer, and a PUB socket may drop it. Only an answer can
    /// confirm more.
    case sent
    /// The queue is full or no peer is connected. Nothing was sent. `onWritable` is called when a retry is useful.
    case wouldBlock
    /// A ROUTER with `routerMandatory` has no peer with that routing id. Nothing was sent.
    case unreachable
    case failed(ZMQError)
}

/// The frames of a message under construction, to be sent together.
@safe
package struct ZMQOutbox: ~Copyable {
    package static let maxFrames = ZMQInbox.maxFrames

    private let frames: UnsafeMutablePointer<zmq_msg_t>
    package private(set) var count = 0
    private var isOverfull = false

    init() {
        unsafe frames = .allocate(capacity: Self.maxFrames)
    }

    deinit {
        for index in 0..<count {
            unsafe zmq_msg_close(frames + index)
        }
        unsafe frames.deallocate()
    }

    /// Adds a frame with a copy of `bytes`.
    package mutating func add(_ bytes: UnsafeRawBufferPointer) {
        guard let frame = unsafe nextFrame() else { return }
        precondition(unsafe zmq_msg_init_size(frame, bytes.count) == 0, "out of memory for a frame")
        if let source = bytes.baseAddress, bytes.count > 0 {
            unsafe zmq_msg_data(frame).copyMemory(from: source, byteCount: bytes.count)
        }
    }

    package mutating func add(_ bytes: [UInt8]) {
        unsafe bytes.withUnsafeBytes { unsafe add($0) }
    }

    package mutating func add(_ text: StaticString) {
        unsafe add(UnsafeRawBufferPointer(start: text.utf8Start, count: text.utf8CodeUnitCount))
    }

    /// Adds an empty frame, such as the delimiter before a reply to a REQ.
    package mutating func addEmpty() {
        guard let frame = unsafe nextFrame() else { return }
        unsafe zmq_msg_init(frame)
    }

    private mutating func nextFrame() -> UnsafeMutablePointer<zmq_msg_t>? {
        guard count < Self.maxFrames else {
            isOverfull = true
            return nil
        }
        count += 1
        return unsafe frames + (count - 1)
    }

    enum Attempt {
        case sent
        case full
        /// The peer disconnected within the message. No peer receives any of it.
        case peerGone
        case unreachable
        case failed(CInt)
    }

    /// Passes all frames to the socket, or none. The outbox is then empty, unless the result is `full`.
    mutating func transmit(to socket: UnsafeMutableRawPointer) -> Attempt {
        var sent = 0
        while sent < count {
            let more = sent + 1 < count ? ZMQ_SNDMORE : 0
            if unsafe zmq_msg_send(frames + sent, socket, ZMQ_DONTWAIT | more) >= 0 {
                sent += 1
                continue
            }
            let number = zmq_errno()
            if number == EINTR { continue }
            if sent == 0, number == EAGAIN { return .full }
            if sent > 0 { unsafe finish(after: sent, on: socket) }
            clear(from: sent)
            switch number {
            case EAGAIN: return .peerGone
            case EHOSTUNREACH: return .unreachable
            default: return .failed(number)
            }
        }
        clear(from: sent)
        return .sent
    }

    /// Completes a message of which one frame failed. libzmq has dropped the frames before. If the failed frame was not
    /// the last, libzmq also drops the following ones up to the last. So they must be sent, or libzmq would take the
    /// next message for them.
    private func finish(after failed: Int, on socket: UnsafeMutableRawPointer) {
        for index in (failed + 1)..<max(count, failed + 1) {
            let more = index + 1 < count ? ZMQ_SNDMORE : 0
            unsafe _ = zmq_msg_send(frames + index, socket, ZMQ_DONTWAIT | more)
        }
    }

    /// Frees the frames from `index` on. The frames before it belong to libzmq.
    mutating func clear(from index: Int = 0) {
        for index in min(index, count)..<count {
            unsafe zmq_msg_close(frames + index)
        }
        count = 0
        isOverfull = false
    }

    /// Whether more frames were added than a message may have.
    var hasTooManyFrames: Bool { isOverfull }
}
