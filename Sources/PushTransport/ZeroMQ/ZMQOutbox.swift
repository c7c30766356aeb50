private import CZeroMQ

/// What became of a message that was to be sent.
package enum ZMQSendResult: Hashable, Sendable {
    /// libzmq has it: queued for a peer, for a PUB socket perhaps dropped. No more can be known without an answer.
    case sent
    /// The queue is full or nobody is connected. Nothing of the message was sent; `onWritable` tells when to try again.
    case wouldBlock
    /// A ROUTER with `routerMandatory` knows no peer of that routing id. Nothing was sent.
    case unreachable
    case failed(ZMQError)
}

/// The frames of a message that is put together to be sent as one.
@safe
package struct ZMQOutbox: ~Copyable {
    /// Below this a copy is cheaper than telling libzmq about memory that is not its own.
    private static let sharedFrom = 256

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

    /// Adds a frame that was received or made before, without copying its bytes unless they are few.
    package mutating func add(_ frame: ZMQFrame) {
        unsafe frame.withBytes { unsafe add($0, keptBy: frame) }
    }

    /// Adds a frame without copying its bytes unless they are few.
    ///
    /// - Important: `bytes` must not change, and must be valid for as long as `owner` lives. The owner is let go of on
    ///   a thread of libzmq.
    @unsafe
    package mutating func add(_ bytes: UnsafeRawBufferPointer, keptBy owner: some AnyObject & Sendable) {
        guard bytes.count >= Self.sharedFrom, let base = bytes.baseAddress else {
            unsafe add(bytes)
            return
        }
        guard let frame = unsafe nextFrame() else { return }
        let kept = unsafe Unmanaged.passRetained(owner as AnyObject)
        let result = unsafe zmq_msg_init_data(
            frame, UnsafeMutableRawPointer(mutating: base), bytes.count,
            { _, owner in unsafe Unmanaged<AnyObject>.fromOpaque(owner!).release() }, kept.toOpaque())
        precondition(result == 0, "out of memory for a frame")
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
        /// The peer went in the midst of the message. Nothing of it arrives there or anywhere else.
        case peerGone
        case unreachable
        case failed(CInt)
    }

    /// Hands all frames to the socket, or none. Afterwards the outbox is empty, unless the queue was `full`.
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

    /// libzmq has dropped the frames before the one that failed. If that was not the last, it swallows the rest up to
    /// the last; so the rest has to come, or the next message would be taken for it.
    private func finish(after failed: Int, on socket: UnsafeMutableRawPointer) {
        for index in (failed + 1)..<max(count, failed + 1) {
            let more = index + 1 < count ? ZMQ_SNDMORE : 0
            unsafe _ = zmq_msg_send(frames + index, socket, ZMQ_DONTWAIT | more)
        }
    }

    /// Frees the frames from `index` on; those before it belong to libzmq.
    mutating func clear(from index: Int = 0) {
        for index in min(index, count)..<count {
            unsafe zmq_msg_close(frames + index)
        }
        count = 0
        isOverfull = false
    }

    /// True if more frames were added than a message may have.
    var hasTooManyFrames: Bool { isOverfull }
}
