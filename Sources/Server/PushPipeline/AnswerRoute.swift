import Glibc
import PushTransport

/// The frames between the routing id of a connection and the kind of a request. The answer repeats them, so that it
/// finds its way back: a REQ expects its empty delimiter and, with `ZMQ_REQ_CORRELATE`, the number of its request; each
/// ROUTER on the way, as in `zmq_proxy`, expects the routing id that it added.
struct AnswerRoute: Hashable, Sendable {
    /// The largest number of frames before the delimiter, and of their bytes. libzmq's own routing ids have five bytes.
    static let maxFrames = 8
    static let maxBytes = 512

    /// The frames, each with its size in front, in one byte. The delimiter is the last one.
    private let packed: [UInt8]

    /// No frame: the kind comes first.
    static let direct = AnswerRoute(packed: [])
    /// The delimiter alone.
    static let delimiter = AnswerRoute(packed: [0])

    private init(packed: [UInt8]) {
        self.packed = packed
    }

    /// The number of bytes in memory.
    var byteCount: Int { packed.count }

    /// Reads the frames from `place` on. Returns the route, and the place of the frame after it.
    ///
    /// A request whose first frame is a kind has no route, whatever follows. If there is no delimiter within the limits,
    /// there is none either: the first frame is then taken for the kind.
    static func read(
        _ message: borrowing ZMQMessage, from place: Int, before kinds: [StaticString]
    ) -> (route: AnswerRoute, next: Int) {
        guard place < message.count else { return (.direct, place) }
        if message.byteCount(ofFrame: place) == 0 { return (.delimiter, place + 1) }
        for kind in kinds where message.isFrame(place, equalTo: kind) { return (.direct, place) }
        var packed: [UInt8] = []
        var left = maxBytes
        for index in place..<min(message.count, place + maxFrames + 1) {
            let size = message.byteCount(ofFrame: index)
            guard let length = UInt8(exactly: size), size <= left else { break }
            left -= size
            packed.append(length)
            if size == 0 { return (AnswerRoute(packed: packed), index + 1) }
            unsafe packed.append(contentsOf: message.lent(index))
        }
        return (.direct, place)
    }

    /// Adds the frames to an answer, after the routing id.
    func add(to outbox: inout ZMQOutbox) {
        var place = 0
        while place < packed.count {
            let end = min(packed.count, place + 1 + Int(packed[place]))
            outbox.add(Array(packed[place + 1..<end]))
            place = end
        }
    }
}

extension ZMQMessage {
    /// Returns whether the bytes of a frame are a word.
    borrowing func isFrame(_ index: Int, equalTo word: StaticString) -> Bool {
        guard byteCount(ofFrame: index) == word.utf8CodeUnitCount else { return false }
        let bytes = unsafe lent(index)
        guard let base = bytes.baseAddress else { return word.utf8CodeUnitCount == 0 }
        return unsafe memcmp(base, word.utf8Start, bytes.count) == 0
    }
}
