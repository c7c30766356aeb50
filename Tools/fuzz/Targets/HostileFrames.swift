/// The frames of a hostile HTTP/2 peer. Frames that are valid except where the input changes them reach more code than
/// random bytes, which rarely pass the first frame header.
struct HostileFrames {
    /// The low half of a command's byte. Values that are not listed belong to the target.
    enum Command: UInt8 {
        case raw = 0
        case frame, wrongLength, headers, data, settings, reset, goAway, windowUpdate, ping, continuation, again
    }

    /// HPACK header blocks (RFC 7541): complete ones of both sides, and malformed ones.
    private static let blocks: [[UInt8]] = [
        // Status 200, status 400 with a field, status 103, and a response that repeats its status.
        [0x88],
        [0x8c, 0x00, 7] + Array("apns-id".utf8) + [3] + Array("abc".utf8),
        [0x08, 3] + Array("103".utf8),
        [0x88, 0x88],
        // POST https / with an authority; the same with a literal path; a request without a path.
        [0x83, 0x87, 0x84, 0x41, 1, 0x61],
        [0x83, 0x87, 0x04, 2, 0x2f, 0x61, 0x41, 1, 0x61, 0x40, 1, 0x78, 1, 0x79],
        [0x82, 0x87],
        // A table size update, an index outside of the table, an integer that does not end, trailers.
        [0x20, 0x88],
        [0xff, 0x80, 0x01],
        [0x7f, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff],
        [0x00, 1, 0x74, 1, 0x75],
        [0x00, 1, 0x58, 1, 0x75],
    ]

    private var last: [UInt8] = []

    static func frame(_ type: UInt8, flags: UInt8, stream: UInt32, _ payload: [UInt8]) -> [UInt8] {
        [UInt8(payload.count >> 16 & 255), UInt8(payload.count >> 8 & 255), UInt8(payload.count & 255), type, flags]
            + big(stream) + payload
    }

    private static func big(_ number: UInt32) -> [UInt8] {
        [UInt8(number >> 24), UInt8(number >> 16 & 255), UInt8(number >> 8 & 255), UInt8(number & 255)]
    }

    /// Returns the bytes for a command; nil if the command does not produce frames.
    mutating func next(_ command: UInt8, _ input: inout FuzzInput) -> [UInt8]? {
        guard let command = Command(rawValue: command & 15) else { return nil }
        let bytes: [UInt8]
        switch command {
        case .raw:
            bytes = input.take(Int(input.byte()))
        case .frame:
            let (type, flags, stream) = (input.byte(), input.byte(), UInt32(input.byte()))
            bytes = Self.frame(type, flags: flags, stream: stream, input.take(Int(input.byte())))
        case .wrongLength:
            let length = input.word()
            bytes = [0, UInt8(length >> 8), UInt8(length & 255)] + input.take(6) + input.take(Int(input.byte()))
        case .headers:
            let (flags, stream) = (input.byte(), UInt32(input.byte()))
            let block = Self.blocks[Int(input.byte()) % Self.blocks.count] + input.take(Int(input.byte() & 31))
            bytes = Self.frame(1, flags: flags, stream: stream, block)
        case .data:
            let (flags, stream) = (input.byte(), UInt32(input.byte()))
            // Padding needs its length in front of the data; the command `frame` can produce it.
            let filler = [UInt8](repeating: 0x2e, count: input.word() & 0x3fff)
            bytes = Self.frame(0, flags: flags & ~8, stream: stream, filler)
        case .settings:
            var payload: [UInt8] = []
            for _ in 0..<Int(input.byte() & 15) {
                payload += [0, input.byte()] + Self.big(input.number())
            }
            bytes = Self.frame(4, flags: 0, stream: 0, payload)
        case .reset:
            bytes = Self.frame(3, flags: 0, stream: UInt32(input.byte()), Self.big(UInt32(input.byte())))
        case .goAway:
            let head = Self.big(input.number()) + Self.big(UInt32(input.byte()))
            bytes = Self.frame(7, flags: 0, stream: 0, head + input.take(Int(input.byte())))
        case .windowUpdate:
            bytes = Self.frame(8, flags: 0, stream: UInt32(input.byte()), Self.big(input.number()))
        case .ping:
            bytes = Self.frame(6, flags: input.byte() & 1, stream: 0, [0, 0, 0, 0] + Self.big(input.number()))
        case .continuation:
            let (flags, stream) = (input.byte(), UInt32(input.byte()))
            bytes = Self.frame(9, flags: flags, stream: stream, input.take(Int(input.byte())))
        case .again:
            // A flood of the last frame, with a bounded size.
            let times = Int(input.byte())
            return (0..<times).prefix { $0 * last.count < 1 << 17 }.flatMap { _ in last }
        }
        last = bytes
        return bytes
    }
}

/// Collects the bytes of a peer and decides in which pieces they arrive.
struct HostileWire {
    private var frames = HostileFrames()
    private var waiting: [UInt8] = []

    mutating func append(_ bytes: [UInt8]) { waiting += bytes }

    /// Returns true if the command produced frames. `deliver` receives the collected bytes: nothing yet if the command
    /// has bit 0x10, small pieces if it has 0x20, otherwise all bytes at once. With 0x40 the peer does not read
    /// afterwards.
    mutating func follow(
        _ command: UInt8, _ input: inout FuzzInput, _ deliver: (UnsafeRawBufferPointer) throws -> Void
    ) rethrows -> Bool {
        guard let bytes = frames.next(command, &input) else { return false }
        waiting += bytes
        guard command & 0x10 == 0 else { return true }
        let size = command & 0x20 == 0 ? waiting.count : 1 + Int(input.byte())
        let all = waiting
        waiting = []
        unsafe try all.inPieces(of: max(1, size)) { unsafe try deliver($0) }
        return true
    }
}
