/// The state of what a client receives that belongs to no stream.
@safe
struct HTTP2ClientInput: ~Copyable {
    /// A header block in progress.
    struct Block {
        var stream: Int32 = 0
        var endsStream = false
        /// The number of frames after the first one.
        var continuations = 0
        /// The length of all names and values.
        var length = 0
    }

    /// The number of frames that may follow the first one of a header block.
    static let maxContinuations = 8

    var reader: HTTP2FrameReader
    var credit = HTTP2FrameCredit()
    /// Nothing but CONTINUATION may come before the block ends.
    var block: Block?
    var repeatedHead = HTTP2RepeatedHead()
    var hasSettings = false
    /// Whether the peer has yet to acknowledge our SETTINGS.
    var awaitsAck = true
    /// The stream limit of the peer.
    var peerLimit = UInt32.max
    /// The number of bytes that the peer may send on a stream before this side extends the window.
    let streamWindow: Int
    /// The number of bytes, on all streams, for which the window was not extended yet.
    var received = 0
    /// Fields are dropped above their limit. Ones that are several times as long end the connection, because a few
    /// bytes of packed fields may stand for any number, and each costs time.
    private let maxBlockLength: Int

    init(settings: HTTP2Settings, maxFieldBytes: Int) {
        let maxPayload = settings.maxFrameSize.map { max(Int($0), HTTP2FrameHead.defaultMaxPayload) }
        reader = HTTP2FrameReader(maxPayload: maxPayload ?? HTTP2FrameHead.defaultMaxPayload)
        streamWindow = settings.initialWindowSize.map { Int($0) } ?? HTTP2ClientOutput.defaultWindow
        maxBlockLength = 5 * maxFieldBytes
    }

    /// Counts a field of the block.
    mutating func count(_ field: HTTP2Field) throws(HTTP2Violation) {
        guard let length = block?.length else { return }
        let total = unsafe length + field.name.count + field.value.count
        block?.length = total
        if total > maxBlockLength { throw HTTP2Violation(flood: .excessiveFields) }
    }
}

extension HTTP2Frame {
    /// The payload without padding.
    func unpadded() throws(HTTP2Violation) -> UnsafeRawBufferPointer {
        guard unsafe head.has(HTTP2FrameFlag.padded) else { return unsafe payload }
        guard let padding = unsafe payload.first, unsafe Int(padding) < payload.count else {
            throw HTTP2Violation(.protocolError, "padding as long as the frame")
        }
        return unsafe UnsafeRawBufferPointer(rebasing: payload[1..<payload.count - Int(padding)])
    }

    /// Checks the length of the payload.
    func require(_ length: Int) throws(HTTP2Violation) {
        guard unsafe payload.count == length else {
            throw HTTP2Violation(
                .frameSizeError, "a frame of type \(unsafe head.type) with \(unsafe payload.count) bytes")
        }
    }

    /// Checks that the frame concerns the whole connection.
    func requireConnection() throws(HTTP2Violation) {
        guard unsafe head.stream == 0 else {
            throw HTTP2Violation(
                .protocolError, "a frame of type \(unsafe head.type) on stream \(unsafe head.stream)")
        }
    }
}
