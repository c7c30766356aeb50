/// One request in progress, at a fixed address. Streams are reused.
@safe
struct HTTP2ClientStream {
    var tag: UInt64 = 0
    var id: Int32 = 0

    // The request.

    /// The body, shared with all other requests that send it. Empty once it is written as a whole.
    var body: [UInt8] = []
    var bodySent = 0
    /// The number of bytes of the body that the peer takes. It is negative after the peer has reduced its window.
    var sendWindow = 0
    /// Whether the stream is in the list of those whose body waits for room.
    var isWaiting = false
    /// The position in the output at which the request ends; nil until the request is written as a whole.
    var requestEnd: UInt64?
    var isHead = false

    // The answer.

    var answer = HTTP2AnswerRules()
    /// The number of received bytes for which the window was not extended yet.
    var received = 0
    /// Whether the response exceeded the limits of this side.
    var isTruncated = false
    var message = HTTP2MessageBuffer()

    // The open streams form a doubly linked list in the order of their ids, and the waiting ones another one. Free
    // streams use only `next`.
    var previous: UnsafeMutablePointer<HTTP2ClientStream>?
    var next: UnsafeMutablePointer<HTTP2ClientStream>?
    var previousWaiting: UnsafeMutablePointer<HTTP2ClientStream>?
    var nextWaiting: UnsafeMutablePointer<HTTP2ClientStream>?

    /// Prepares a free stream for the next request.
    mutating func reset() {
        if !body.isEmpty { body = [] }
        bodySent = 0
        requestEnd = nil
        answer = HTTP2AnswerRules()
        received = 0
        isTruncated = false
        message.reset()
    }
}

/// The streams of a client: the open ones by id and in the order of their ids, and free ones for reuse.
@safe
struct HTTP2ClientStreams: ~Copyable {
    private(set) var first: UnsafeMutablePointer<HTTP2ClientStream>?
    private(set) var last: UnsafeMutablePointer<HTTP2ClientStream>?
    private(set) var count = 0
    private var free: UnsafeMutablePointer<HTTP2ClientStream>?
    /// A hash table with linear probing that is at most half full. Its size is a power of two.
    private var slots: UnsafeMutableBufferPointer<UnsafeMutablePointer<HTTP2ClientStream>?>

    init() {
        unsafe slots = .allocate(capacity: 64)
        unsafe slots.initialize(repeating: nil)
    }

    deinit {
        unsafe Self.destroyList(first)
        unsafe Self.destroyList(free)
        unsafe slots.deallocate()
    }

    /// Opens a stream. Its id is higher than that of any before.
    mutating func open(_ id: Int32) -> UnsafeMutablePointer<HTTP2ClientStream> {
        let stream = unsafe takeFree()
        unsafe stream.pointee.id = id
        unsafe stream.pointee.previous = unsafe last
        unsafe stream.pointee.next = nil
        if let last = unsafe last {
            unsafe last.pointee.next = unsafe stream
        } else {
            unsafe first = unsafe stream
        }
        unsafe last = unsafe stream
        count += 1
        if unsafe 2 * count > slots.count { grow() }
        unsafe insert(stream)
        return unsafe stream
    }

    func find(_ id: Int32) -> UnsafeMutablePointer<HTTP2ClientStream>? {
        var slot = home(of: id)
        while let stream = unsafe slots[slot] {
            if unsafe stream.pointee.id == id { return unsafe stream }
            slot = next(slot)
        }
        return nil
    }

    /// Removes a stream from the open ones. The caller recycles it.
    mutating func close(_ stream: UnsafeMutablePointer<HTTP2ClientStream>) {
        let (previous, next) = unsafe (stream.pointee.previous, stream.pointee.next)
        if let previous = unsafe previous {
            unsafe previous.pointee.next = unsafe next
        } else {
            unsafe first = unsafe next
        }
        if let next = unsafe next {
            unsafe next.pointee.previous = unsafe previous
        } else {
            unsafe last = unsafe previous
        }
        count -= 1
        remove(unsafe stream.pointee.id)
    }

    mutating func recycle(_ stream: UnsafeMutablePointer<HTTP2ClientStream>) {
        unsafe stream.pointee.reset()
        unsafe stream.pointee.next = unsafe free
        unsafe free = unsafe stream
    }

    // MARK: Memory

    private mutating func takeFree() -> UnsafeMutablePointer<HTTP2ClientStream> {
        if let stream = unsafe free {
            unsafe free = stream.pointee.next
            return unsafe stream
        }
        let stream = UnsafeMutablePointer<HTTP2ClientStream>.allocate(capacity: 1)
        unsafe stream.initialize(to: HTTP2ClientStream())
        return unsafe stream
    }

    private static func destroyList(_ first: UnsafeMutablePointer<HTTP2ClientStream>?) {
        var next = unsafe first
        while let stream = unsafe next {
            unsafe next = stream.pointee.next
            unsafe stream.pointee.message.free()
            unsafe stream.deinitialize(count: 1)
            unsafe stream.deallocate()
        }
    }

    // MARK: Hash table

    /// The slot where the search for an id begins. Ids that follow each other are far apart, so that a removal finds
    /// the next empty slot soon.
    private func home(of id: Int32) -> Int {
        let hash = UInt32(bitPattern: id) &* 0x9e37_79b1
        return unsafe Int(hash >> UInt32(32 - slots.count.trailingZeroBitCount))
    }

    private func next(_ slot: Int) -> Int { unsafe (slot + 1) & (slots.count - 1) }

    private mutating func insert(_ stream: UnsafeMutablePointer<HTTP2ClientStream>) {
        var slot = home(of: unsafe stream.pointee.id)
        while unsafe slots[slot] != nil { slot = next(slot) }
        unsafe slots[slot] = unsafe stream
    }

    private mutating func remove(_ id: Int32) {
        var hole = home(of: id)
        while let stream = unsafe slots[hole], unsafe stream.pointee.id != id { hole = next(hole) }
        // Each following entry moves into the hole, unless the search for it begins behind the hole.
        var slot = next(hole)
        while let stream = unsafe slots[slot] {
            let distance = unsafe (slot - home(of: stream.pointee.id)) & (slots.count - 1)
            if unsafe distance >= (slot - hole) & (slots.count - 1) {
                unsafe slots[hole] = unsafe stream
                hole = slot
            }
            slot = next(slot)
        }
        unsafe slots[hole] = nil
    }

    private mutating func grow() {
        let old = unsafe slots
        unsafe slots = .allocate(capacity: 2 * old.count)
        unsafe slots.initialize(repeating: nil)
        for index in old.indices {
            if let stream = unsafe old[index] { unsafe insert(stream) }
        }
        unsafe old.deallocate()
    }
}

/// The frames that a peer may send. An answer has a few, and each answer gives credit for more. A peer that sends frames
/// without answers, of whatever kind, runs out of it. PING and SETTINGS need no answer; the output limits them.
struct HTTP2FrameCredit {
    /// Enough for an answer of some megabytes in small frames.
    static let most = 20_000
    private static let ofAnswer = 100

    private(set) var left = HTTP2FrameCredit.most

    /// Takes the credit of a frame. Returns false if there was none.
    mutating func take() -> Bool {
        left -= 1
        return left >= 0
    }

    /// Allows one more frame: the answer to a PING of this side, or the end of a request without an answer.
    mutating func allowOne() { left = min(left + 1, Self.most) }

    mutating func answered() { left = min(left + Self.ofAnswer, Self.most) }
}
