import Glibc
import PushModel
import PushTransport

/// The parsed frames of a message: `["push/1", envelope, payload?]`, `["push-batch/1", lines]`,
/// `["cancel/1", request]` or `["cluster/1"]`, with or without an ``AnswerRoute`` at the front.
///
/// - Important: The pointers refer to the memory of the message. They are valid only while the message is borrowed.
@safe
struct RequestFrames {
    @safe
    enum Kind {
        case single(envelope: UnsafeRawBufferPointer, payload: UnsafeRawBufferPointer?)
        case batch(lines: UnsafeRawBufferPointer)
        case cancel(request: UnsafeRawBufferPointer)
        case cluster
        /// An invalid request. `envelope` is the frame that may be the envelope; the ack takes the id from it.
        case bad(Rejection, envelope: UnsafeRawBufferPointer?, isBatch: Bool = false)
    }

    static let expected =
        "expected [\"push/1\", envelope, payload?], [\"push-batch/1\", lines], [\"cancel/1\", request] or [\"cluster/1\"]"

    let kind: Kind
    /// The routing id to which the ack goes; empty for PULL.
    let identity: UnsafeRawBufferPointer
    let route: AnswerRoute
    /// The user id of the connection, which is the client's public key; nil without CURVE.
    let sender: UnsafeRawBufferPointer?
    /// The client and its rights.
    var caller = Caller.anyone

    /// - Parameter total: the number of frames that arrived, which may be more than `message` keeps.
    init(_ message: borrowing ZMQMessage, total: Int, from source: Intake.Source) {
        var place = 0
        switch source {
        case .router:
            unsafe identity = message.lent(0)
            place = 1
        case .pull: unsafe identity = UnsafeRawBufferPointer(start: nil, count: 0)
        }
        unsafe sender = source.isSecured ? message.lentUserID() : nil
        (route, place) = AnswerRoute.read(message, from: place, before: Self.kinds)
        kind = Self.kind(of: message, from: place, count: total - place)
    }

    func isSent(by userID: [UInt8]) -> Bool {
        guard let sender = unsafe sender, sender.count == userID.count else { return false }
        return unsafe userID.withUnsafeBytes { userID in
            guard let known = userID.baseAddress, let new = sender.baseAddress else { return true }
            return unsafe memcmp(known, new, userID.count) == 0
        }
    }

    private static func kind(of message: borrowing ZMQMessage, from place: Int, count: Int) -> Kind {
        guard place < message.count else {
            return unsafe .bad(Rejection(.badFrame, detail: "the message has no frame; \(expected)"), envelope: nil)
        }
        let next = unsafe place + 1 < message.count ? message.lent(place + 1) : nil
        if message.isFrame(place, equalTo: "push/1") {
            if count == 2, let next = unsafe next { return unsafe .single(envelope: next, payload: nil) }
            if count == 3, let next = unsafe next {
                return unsafe .single(envelope: next, payload: message.lent(place + 2))
            }
            return unsafe .bad(wrongCount(count, of: "push/1"), envelope: next)
        }
        if message.isFrame(place, equalTo: "push-batch/1") {
            if count == 2, let next = unsafe next { return unsafe .batch(lines: next) }
            // The sender of a batch expects the ack of a batch.
            return unsafe .bad(wrongCount(count, of: "push-batch/1"), envelope: nil, isBatch: true)
        }
        if message.isFrame(place, equalTo: "cancel/1") {
            if count == 2, let next = unsafe next { return unsafe .cancel(request: next) }
            return unsafe .bad(wrongCount(count, of: "cancel/1"), envelope: next)
        }
        if message.isFrame(place, equalTo: "cluster/1") {
            return unsafe count == 1 ? .cluster : .bad(wrongCount(count, of: "cluster/1"), envelope: nil)
        }
        return unsafe .bad(Rejection(.badFrame, detail: problem(of: message.lent(place))), envelope: next)
    }

    private static let kinds: [StaticString] = ["push/1", "push-batch/1", "cancel/1", "cluster/1"]

    private static func wrongCount(_ count: Int, of kind: StaticString) -> Rejection {
        Rejection(.badFrame, detail: "\(kind) with \(count) \(count == 1 ? "frame" : "frames"); \(expected)")
    }

    /// Describes an unknown first frame. The text of the frame is quoted only if it looks like a request kind: it might
    /// be a misplaced payload.
    private static func problem(of word: UnsafeRawBufferPointer) -> String {
        let isWord = unsafe word.count <= 24 && word.allSatisfy(isWordByte) && word.contains(UInt8(ascii: "/"))
        guard isWord else {
            return "the first frame is not a request kind; \(expected). Only \(AnswerRoute.maxFrames) frames of "
                + "\(AnswerRoute.maxBytes) bytes and an empty delimiter may precede it"
        }
        let text = unsafe String(decoding: word, as: UTF8.self)
        return "unknown request kind \(text); use push/1, push-batch/1, cancel/1 or cluster/1"
    }

    private static func isWordByte(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"),
            UInt8(ascii: "/"), UInt8(ascii: "."):
            true
        default: false
        }
    }
}

extension ZMQMessage {
    /// Returns the bytes of a frame. They are valid only while the message is borrowed.
    borrowing func lent(_ index: Int) -> UnsafeRawBufferPointer {
        unsafe withBytes(ofFrame: index) { unsafe $0 }
    }

    /// Returns the bytes of the user id that the ZAP handler gave to the connection; empty if there is none. They are
    /// valid only while the message is borrowed.
    borrowing func lentUserID() -> UnsafeRawBufferPointer { unsafe withUserID { unsafe $0 } }
}
