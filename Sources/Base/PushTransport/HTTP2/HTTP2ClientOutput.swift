/// What a client sends: its frames in order, and the bodies that wait for the peer to take more.
///
/// The head of a request is written when it is submitted. Its body follows at once if the windows of the peer and the
/// output have room for it, or else when they have; the waiting bodies then take turns.
@safe
struct HTTP2ClientOutput: ~Copyable {
    /// The amount of output up to which bodies are added.
    private static let bodyRoom = 64 * 1024
    /// The number of acknowledgements that may wait. A peer that causes more of them does not read.
    private static let maxAcks = 1000
    /// The largest window (RFC 9113, section 6.9.1).
    private static let maxWindow = 0x7fff_ffff
    static let defaultWindow = 65_535

    private let settings: HTTP2Settings
    private var queue = ByteQueue()
    private var encoder = HPACKEncoder()
    /// The number of bytes that were taken out.
    private var taken: UInt64 = 0
    private var acks = 0
    private var lastWritten: Int32 = 0
    /// The last stream whose head was taken out. The peer knows no later ones.
    private(set) var lastTaken: Int32 = 0
    /// Whether nothing follows the GOAWAY that reports a violation.
    private var isFinal = false

    // What the peer allows.
    private var window = HTTP2ClientOutput.defaultWindow
    private var initialWindow = HTTP2ClientOutput.defaultWindow
    private var maxPayload = HTTP2FrameHead.defaultMaxPayload

    // The streams whose bodies wait, in the order of their turns. Those whose own window is used up are not among them.
    private var firstWaiting: UnsafeMutablePointer<HTTP2ClientStream>?
    private var lastWaiting: UnsafeMutablePointer<HTTP2ClientStream>?

    init(settings: HTTP2Settings) {
        self.settings = settings
        writePreface()
    }

    var isEmpty: Bool { queue.isEmpty }

    /// Whether there are bodies that wait for the connection.
    var isWaiting: Bool { unsafe firstWaiting != nil }

    /// Passes all frames to `write`. Returns the number of bytes.
    mutating func take(_ write: (UnsafeRawBufferPointer) -> Void) -> Int {
        let count = queue.count
        unsafe queue.withBytes(write)
        queue.consume(count)
        acks = 0
        if !isFinal {
            taken += UInt64(count)
            lastTaken = lastWritten
        }
        return count
    }

    /// Whether the whole request was taken out, so that the peer may have processed it.
    func isSent(_ stream: UnsafeMutablePointer<HTTP2ClientStream>) -> Bool {
        guard let end = unsafe stream.pointee.requestEnd else { return false }
        return end <= taken
    }

    // MARK: Frames

    private mutating func writeHead(_ head: HTTP2FrameHead) {
        unsafe head.write(to: queue.room(for: HTTP2FrameHead.size))
        queue.grow(by: HTTP2FrameHead.size)
    }

    private mutating func write(_ number: UInt32) {
        unsafe queue.room(for: 4).storeBytes(of: number.bigEndian, as: UInt32.self)
        queue.grow(by: 4)
    }

    private mutating func writePreface() {
        queue.append(Array("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n".utf8))
        let entries = settings.entries
        writeHead(HTTP2FrameHead(HTTP2FrameType.settings, length: 6 * entries.count))
        for entry in entries {
            queue.append([UInt8(entry.id >> 8), UInt8(entry.id & 0xff)])
            write(entry.value)
        }
    }

    mutating func acknowledgeSettings() throws(HTTP2Violation) {
        try countAck()
        writeHead(HTTP2FrameHead(HTTP2FrameType.settings, length: 0, flags: HTTP2FrameFlag.ack))
    }

    /// - Parameter isAnswer: Whether the PING answers one of the peer.
    mutating func ping(_ payload: UInt64, isAnswer: Bool) throws(HTTP2Violation) {
        if isAnswer { try countAck() }
        writeHead(HTTP2FrameHead(HTTP2FrameType.ping, length: 8, flags: isAnswer ? HTTP2FrameFlag.ack : 0))
        unsafe queue.room(for: 8).storeBytes(of: payload.bigEndian, as: UInt64.self)
        queue.grow(by: 8)
    }

    private mutating func countAck() throws(HTTP2Violation) {
        acks += 1
        if acks > Self.maxAcks { throw HTTP2Violation(flood: .controlFrames) }
    }

    mutating func reset(_ stream: Int32, code: HTTP2ErrorCode) {
        writeHead(HTTP2FrameHead(HTTP2FrameType.reset, length: 4, stream: stream))
        write(code.rawValue)
    }

    /// Lets the peer send more, on a stream or for 0 on the connection.
    mutating func extendWindow(of stream: Int32, by count: Int) {
        guard count > 0 else { return }
        writeHead(HTTP2FrameHead(HTTP2FrameType.windowUpdate, length: 4, stream: stream))
        write(UInt32(clamping: count))
    }

    mutating func goAway(_ code: HTTP2ErrorCode, reason: [UInt8] = []) {
        writeHead(HTTP2FrameHead(HTTP2FrameType.goAway, length: 8 + reason.count))
        write(0)
        write(code.rawValue)
        queue.append(reason)
    }

    /// Drops the requests that were not taken out of streams after the last one that the peer processes. No head follows
    /// a GOAWAY, so that the table of the peer stays that of this side.
    mutating func dropUnsent(after last: Int32) {
        // In front of the first frames is the preface, which is none.
        guard taken > 0, lastWritten > lastTaken else { return }
        var kept: [UInt8] = []
        kept.reserveCapacity(queue.count)
        var dropped = 0
        var freed = 0
        unsafe queue.withBytes { bytes in
            var start = 0
            while start + HTTP2FrameHead.size <= bytes.count {
                let head = unsafe HTTP2FrameHead(at: bytes.baseAddress! + start)
                let end = start + HTTP2FrameHead.size + head.length
                // The peer knows streams whose heads were taken out: what ends them stays.
                let isUnknown = head.stream > lastTaken
                if head.stream > last, isUnknown || head.type == HTTP2FrameType.data {
                    dropped += end - start
                    if head.type == HTTP2FrameType.data { freed += head.length }
                } else {
                    unsafe kept.append(contentsOf: bytes[start..<end])
                }
                start = end
            }
        }
        guard dropped > 0 else { return }
        queue.removeAll()
        queue.append(kept)
        window += freed
        // The ends of other requests lie behind what was dropped: they count as sent a little early, never too late.
        taken += UInt64(dropped)
        lastWritten = max(min(lastWritten, last), lastTaken)
    }

    /// Drops what was not taken out, and reports a violation.
    mutating func end(because violation: HTTP2Violation) {
        queue.removeAll()
        if taken == 0 { writePreface() }
        isFinal = true
        goAway(violation.code, reason: Array(violation.error.message.utf8))
    }

    // MARK: Requests

    /// Writes the head of a request, and its body if there is room.
    mutating func submit(
        _ request: HTTP2PreparedRequest, values: UnsafeBufferPointer<UnsafeRawBufferPointer>, body: [UInt8],
        on stream: UnsafeMutablePointer<HTTP2ClientStream>
    ) {
        lastWritten = unsafe stream.pointee.id
        unsafe stream.pointee.sendWindow = initialWindow
        let maxLength = unsafe HPACKEncoder.maxLength(of: request, values: values)
        var head = HTTP2FrameHead(
            HTTP2FrameType.headers, length: 0,
            flags: body.isEmpty ? HTTP2FrameFlag.endHeaders | HTTP2FrameFlag.endStream : HTTP2FrameFlag.endHeaders,
            stream: unsafe stream.pointee.id)
        if maxLength <= maxPayload {
            let room = unsafe queue.room(for: HTTP2FrameHead.size + maxLength)
            head.length = unsafe encoder.encode(request, values: values, to: room + HTTP2FrameHead.size)
            unsafe head.write(to: room)
            queue.grow(by: HTTP2FrameHead.size + head.length)
        } else {
            unsafe writeLongHead(head, request: request, values: values, maxLength: maxLength)
        }
        if body.isEmpty {
            unsafe endRequest(stream)
        } else if unsafe firstWaiting == nil, queue.count < Self.bodyRoom,
            body.count <= min(maxPayload, window, initialWindow)
        {
            unsafe body.withUnsafeBytes { unsafe writeBody($0, isLast: true, on: stream) }
            unsafe endRequest(stream)
        } else {
            unsafe stream.pointee.body = body
            unsafe enqueue(stream)
        }
    }

    /// Writes a head that may need several frames.
    private mutating func writeLongHead(
        _ head: HTTP2FrameHead, request: HTTP2PreparedRequest, values: UnsafeBufferPointer<UnsafeRawBufferPointer>,
        maxLength: Int
    ) {
        let block = UnsafeMutableRawPointer.allocate(byteCount: maxLength, alignment: 1)
        defer { unsafe block.deallocate() }
        let length = unsafe encoder.encode(request, values: values, to: block)
        var frame = head
        var start = 0
        repeat {
            frame.length = min(length - start, maxPayload)
            let isLast = start + frame.length == length
            if isLast { frame.flags |= HTTP2FrameFlag.endHeaders } else { frame.flags &= ~HTTP2FrameFlag.endHeaders }
            writeHead(frame)
            unsafe queue.append(UnsafeRawBufferPointer(start: block + start, count: frame.length))
            start += frame.length
            frame = HTTP2FrameHead(HTTP2FrameType.continuation, length: 0, stream: head.stream)
        } while start < length
    }

    private mutating func writeBody(
        _ piece: UnsafeRawBufferPointer, isLast: Bool, on stream: UnsafeMutablePointer<HTTP2ClientStream>
    ) {
        writeHead(
            HTTP2FrameHead(
                HTTP2FrameType.data, length: piece.count, flags: isLast ? HTTP2FrameFlag.endStream : 0,
                stream: unsafe stream.pointee.id))
        unsafe queue.append(piece)
        window -= piece.count
        unsafe stream.pointee.sendWindow -= piece.count
    }

    private mutating func endRequest(_ stream: UnsafeMutablePointer<HTTP2ClientStream>) {
        unsafe stream.pointee.requestEnd = taken + UInt64(queue.count)
    }

    // MARK: Waiting bodies

    /// Writes a frame of the body whose turn it is. Returns its stream; nil if there is none, or no room.
    mutating func writeWaiting() -> UnsafeMutablePointer<HTTP2ClientStream>? {
        while !isFinal, window > 0, queue.count < Self.bodyRoom, let stream = unsafe firstWaiting {
            unsafe withdraw(stream)
            let room = unsafe min(maxPayload, window, stream.pointee.sendWindow)
            // It goes on when its window is extended.
            guard room > 0 else { continue }
            let body = unsafe stream.pointee.body
            let start = unsafe stream.pointee.bodySent
            let end = min(body.count, start + room)
            unsafe body.withUnsafeBytes { bytes in
                unsafe writeBody(
                    UnsafeRawBufferPointer(rebasing: bytes[start..<end]), isLast: end == body.count, on: stream)
            }
            unsafe stream.pointee.bodySent = end
            if end == body.count {
                unsafe stream.pointee.body = []
                unsafe endRequest(stream)
            } else {
                unsafe enqueue(stream)
            }
            return unsafe stream
        }
        return nil
    }

    private mutating func enqueue(_ stream: UnsafeMutablePointer<HTTP2ClientStream>) {
        unsafe stream.pointee.isWaiting = true
        unsafe stream.pointee.previousWaiting = unsafe lastWaiting
        unsafe stream.pointee.nextWaiting = nil
        if let last = unsafe lastWaiting {
            unsafe last.pointee.nextWaiting = unsafe stream
        } else {
            unsafe firstWaiting = unsafe stream
        }
        unsafe lastWaiting = unsafe stream
    }

    /// Removes a stream from those whose bodies wait.
    mutating func withdraw(_ stream: UnsafeMutablePointer<HTTP2ClientStream>) {
        guard unsafe stream.pointee.isWaiting else { return }
        unsafe stream.pointee.isWaiting = false
        let (previous, next) = unsafe (stream.pointee.previousWaiting, stream.pointee.nextWaiting)
        if let previous = unsafe previous {
            unsafe previous.pointee.nextWaiting = unsafe next
        } else {
            unsafe firstWaiting = unsafe next
        }
        if let next = unsafe next {
            unsafe next.pointee.previousWaiting = unsafe previous
        } else {
            unsafe lastWaiting = unsafe previous
        }
    }

    // MARK: What the peer allows

    mutating func setTableSize(_ size: UInt32) { encoder.setTableSize(size) }

    mutating func setMaxPayload(_ size: UInt32) throws(HTTP2Violation) {
        guard size >= HTTP2FrameHead.defaultMaxPayload, size < 1 << 24 else {
            throw HTTP2Violation(.protocolError, "SETTINGS with MAX_FRAME_SIZE \(size)")
        }
        maxPayload = Int(size)
    }

    /// Changes the window of streams, also of the open ones. Their windows may become negative.
    mutating func setInitialWindow(
        _ size: UInt32, for streams: borrowing HTTP2ClientStreams
    ) throws(HTTP2Violation) {
        guard size <= Self.maxWindow else {
            throw HTTP2Violation(.flowControlError, "SETTINGS with INITIAL_WINDOW_SIZE \(size)")
        }
        let change = Int(size) - initialWindow
        initialWindow = Int(size)
        guard change != 0 else { return }
        var next = unsafe streams.first
        while let stream = unsafe next {
            guard unsafe extend(stream, by: change) else {
                throw HTTP2Violation(.flowControlError, "SETTINGS extend the window of a stream too far")
            }
            unsafe next = stream.pointee.next
        }
    }

    mutating func extend(by count: Int) throws(HTTP2Violation) {
        window += count
        if window > Self.maxWindow {
            throw HTTP2Violation(.flowControlError, "WINDOW_UPDATE extends the window of the connection too far")
        }
    }

    /// Changes the window of a stream. Returns false if it exceeds the largest one.
    mutating func extend(_ stream: UnsafeMutablePointer<HTTP2ClientStream>, by count: Int) -> Bool {
        unsafe stream.pointee.sendWindow += count
        guard unsafe stream.pointee.sendWindow <= Self.maxWindow else { return false }
        if unsafe stream.pointee.requestEnd == nil, unsafe !stream.pointee.isWaiting,
            unsafe stream.pointee.sendWindow > 0
        {
            unsafe enqueue(stream)
        }
        return true
    }
}
