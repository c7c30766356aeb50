/// The types of frames (RFC 9113, section 6). A peer may send any other, too.
enum HTTP2FrameType {
    static let data: UInt8 = 0
    static let headers: UInt8 = 1
    static let priority: UInt8 = 2
    static let reset: UInt8 = 3
    static let settings: UInt8 = 4
    static let pushPromise: UInt8 = 5
    static let ping: UInt8 = 6
    static let goAway: UInt8 = 7
    static let windowUpdate: UInt8 = 8
    static let continuation: UInt8 = 9
}

/// The flags of frames. Their meaning depends on the type.
enum HTTP2FrameFlag {
    static let ack: UInt8 = 1
    static let endStream: UInt8 = 1
    static let endHeaders: UInt8 = 4
    static let padded: UInt8 = 8
    static let priority: UInt8 = 0x20
}

/// The head of a frame: the length of its payload, type, flags and stream.
struct HTTP2FrameHead: Equatable {
    static let size = 9
    /// The largest payload that is accepted and sent unless a peer announces another limit.
    static let defaultMaxPayload = 16_384

    var length: Int
    var type: UInt8
    var flags: UInt8 = 0
    var stream: Int32 = 0

    func has(_ flag: UInt8) -> Bool { flags & flag != 0 }

    /// Reads a head from nine bytes.
    init(at start: UnsafeRawPointer) {
        let first = unsafe UInt32(bigEndian: start.loadUnaligned(as: UInt32.self))
        length = Int(first >> 8)
        type = UInt8(truncatingIfNeeded: first)
        flags = unsafe start.load(fromByteOffset: 4, as: UInt8.self)
        stream = unsafe (start + 5).loadInt31()
    }

    init(_ type: UInt8, length: Int, flags: UInt8 = 0, stream: Int32 = 0) {
        self.length = length
        self.type = type
        self.flags = flags
        self.stream = stream
    }

    /// Writes the head to nine bytes.
    func write(to target: UnsafeMutableRawPointer) {
        let first = UInt32(truncatingIfNeeded: length) << 8 | UInt32(type)
        unsafe target.storeBytes(of: first.bigEndian, as: UInt32.self)
        unsafe target.storeBytes(of: flags, toByteOffset: 4, as: UInt8.self)
        unsafe target.storeBytes(of: UInt32(bitPattern: stream).bigEndian, toByteOffset: 5, as: UInt32.self)
    }
}

extension UnsafeRawPointer {
    func loadUInt32() -> UInt32 { unsafe UInt32(bigEndian: loadUnaligned(as: UInt32.self)) }

    /// Loads the lower 31 of 32 bits. The highest one is reserved.
    func loadInt31() -> Int32 { unsafe Int32(bitPattern: loadUInt32() & 0x7fff_ffff) }
}

/// One frame, borrowed from the input.
@unsafe
struct HTTP2Frame {
    let head: HTTP2FrameHead
    let payload: UnsafeRawBufferPointer
}

/// Cuts the bytes of a peer into frames. A frame that arrives in pieces is collected; any other is not copied.
@safe
struct HTTP2FrameReader: ~Copyable {
    private let maxPayload: Int
    private var partial = ByteQueue(keepingCapacity: 0)
    private var isPartialDone = false

    init(maxPayload: Int) {
        self.maxPayload = maxPayload
    }

    /// Removes a frame from the front of `input`. Returns nil if the rest of it has yet to arrive. The frame is valid
    /// until the next call.
    mutating func next(_ input: inout UnsafeRawBufferPointer) throws(HTTP2Violation) -> HTTP2Frame? {
        if isPartialDone {
            isPartialDone = false
            partial.removeAll()
        }
        if partial.isEmpty, input.count >= HTTP2FrameHead.size, let start = input.baseAddress {
            let head = try unsafe readHead(at: start)
            let size = HTTP2FrameHead.size + head.length
            if input.count >= size {
                let payload = unsafe UnsafeRawBufferPointer(start: start + HTTP2FrameHead.size, count: head.length)
                unsafe input = UnsafeRawBufferPointer(start: start + size, count: input.count - size)
                return unsafe HTTP2Frame(head: head, payload: payload)
            }
        }
        return try unsafe collect(&input)
    }

    private mutating func collect(_ input: inout UnsafeRawBufferPointer) throws(HTTP2Violation) -> HTTP2Frame? {
        unsafe move(upTo: HTTP2FrameHead.size, from: &input)
        guard partial.count >= HTTP2FrameHead.size else { return nil }
        let head = try unsafe partial.withBytes { (bytes) throws(HTTP2Violation) in
            try unsafe readHead(at: bytes.baseAddress!)
        }
        unsafe move(upTo: HTTP2FrameHead.size + head.length, from: &input)
        guard partial.count == HTTP2FrameHead.size + head.length else { return nil }
        isPartialDone = true
        return unsafe partial.withBytes { bytes in
            unsafe HTTP2Frame(head: head, payload: UnsafeRawBufferPointer(rebasing: bytes[HTTP2FrameHead.size...]))
        }
    }

    private mutating func move(upTo size: Int, from input: inout UnsafeRawBufferPointer) {
        let count = min(size - partial.count, input.count)
        guard count > 0 else { return }
        unsafe partial.append(UnsafeRawBufferPointer(rebasing: input[..<count]))
        unsafe input = UnsafeRawBufferPointer(rebasing: input[count...])
    }

    private func readHead(at start: UnsafeRawPointer) throws(HTTP2Violation) -> HTTP2FrameHead {
        let head = unsafe HTTP2FrameHead(at: start)
        guard head.length <= maxPayload else {
            throw HTTP2Violation(.frameSizeError, "a frame has \(head.length) bytes, more than \(maxPayload)")
        }
        return head
    }
}

/// A violation of the protocol by the peer that ends the connection: the code for the GOAWAY frame, and the error that
/// the owner of the connection gets.
struct HTTP2Violation: Error {
    let code: HTTP2ErrorCode
    let error: HTTP2Error

    init(_ code: HTTP2ErrorCode, _ what: String) {
        self.code = code
        error = HTTP2Error(.protocolViolation, message: "HTTP/2 protocol violation: \(what)")
    }

    init(_ code: HTTP2ErrorCode, error: HTTP2Error) {
        self.code = code
        self.error = error
    }

    /// A peer that floods this side.
    init(flood error: HTTP2Error) {
        code = .enhanceYourCalm
        self.error = error
    }
}
