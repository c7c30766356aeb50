private import CZeroMQ
import PushLoop
import Synchronization

/// Decides which CURVE clients may connect to the servers of a context, and what they are called.
///
/// It answers on a thread of its own for as long as its context lives, one question per handshake. A context has one
/// handler; make it before the servers bind. To replace the users does not end connections that stand.
package final class ZAPHandler: Sendable {
    /// Keys that a handler keeps at most.
    package static let maxUsers = 100_000

    /// A client that was not let in.
    package struct Refusal: Sendable {
        package let domain: String
        package let address: String
        /// Nil if the client did not use CURVE or the question was malformed.
        package let publicKey: CurvePublicKey?
        package let reason: String
    }

    package struct Counts: Hashable, Sendable {
        package var accepted = 0
        package var refused = 0
        package var malformed = 0
    }

    private let users: Locked<[CurvePublicKey: String]>
    private let accepted = Atomic<Int>(0)
    private let refused = Atomic<Int>(0)
    private let malformed = Atomic<Int>(0)
    private let observer: @Sendable (Refusal) -> Void

    /// Starts the thread.
    ///
    /// - Parameters:
    ///   - users: what each client is called: 1 to 255 bytes, no NUL.
    ///   - observer: called on the handler's thread, which the next handshake waits for.
    package init(
        in context: ZMQContext, users: [CurvePublicKey: String],
        observer: @escaping @Sendable (Refusal) -> Void = { _ in }
    ) throws(ZMQError) {
        try Self.check(users)
        self.users = Locked(users)
        self.observer = observer
        let responder = try ZAPResponder(in: context)
        _ = NamedThread(named: "zap") {
            responder.run { message, frameCount in self.answer(message, frameCount) }
        }
    }

    /// Who may in from now on.
    package func replaceUsers(_ users: [CurvePublicKey: String]) throws(ZMQError) {
        try Self.check(users)
        self.users.withLock { $0 = users }
    }

    package var counts: Counts {
        Counts(
            accepted: accepted.load(ordering: .relaxed), refused: refused.load(ordering: .relaxed),
            malformed: malformed.load(ordering: .relaxed))
    }

    private static func check(_ users: [CurvePublicKey: String]) throws(ZMQError) {
        guard users.count <= maxUsers else {
            throw ZMQError(.tooManyUsers, "\(users.count) CURVE users: at most \(maxUsers) are allowed")
        }
        for (key, name) in users where !(1...255).contains(name.utf8.count) || name.utf8.contains(0) {
            throw ZMQError(.invalidOption, "CURVE user of key \(key): the name needs 1 to 255 bytes without NUL")
        }
    }

    private func answer(_ message: borrowing ZMQMessage, _ frameCount: Int) -> ZAPReply {
        do throws(ZAPRequest.Fault) {
            guard frameCount <= message.count else { throw .tooManyFrames(frameCount) }
            return decide(try ZAPRequest(message))
        } catch {
            malformed.add(1, ordering: .relaxed)
            observer(Refusal(domain: "", address: "", publicKey: nil, reason: error.text))
            return .failed(error.text)
        }
    }

    private func decide(_ request: ZAPRequest) -> ZAPReply {
        let key: CurvePublicKey?
        let reason: String
        switch request.mechanism {
        case .curve(let publicKey):
            if let userID = users.withLock({ $0[publicKey] }) {
                accepted.add(1, ordering: .relaxed)
                return .accepted(userID: userID)
            }
            key = publicKey
            reason = "unknown public key"
        case .other(let name):
            key = nil
            reason = "CURVE is required, not \(name)"
        }
        refused.add(1, ordering: .relaxed)
        observer(Refusal(domain: request.domain, address: request.address, publicKey: key, reason: reason))
        return .refused(reason)
    }
}

/// The socket of the handler, and the thread's work: read, answer, always answer.
@safe
private struct ZAPResponder: @unchecked Sendable {
    // Unchecked: made on one thread and handed to another, never used on both.
    private let socket: UnsafeMutableRawPointer

    init(in context: ZMQContext) throws(ZMQError) {
        unsafe socket = try context.makeSocket(ZMQ_REP)
        var zero: CInt = 0
        unsafe zmq_setsockopt(socket, ZMQ_LINGER, &zero, MemoryLayout<CInt>.size)
        guard unsafe zmq_bind(socket, "inproc://zeromq.zap.01") == 0 else {
            let error = ZMQError.last("start a ZAP handler (a context has one)")
            unsafe zmq_close(socket)
            throw error
        }
    }

    /// Returns when the context ends.
    func run(_ answer: (borrowing ZMQMessage, _ frameCount: Int) -> ZAPReply) {
        let inbox = ZMQInbox()
        var outbox = ZMQOutbox()
        // A context that ends wakes the call that waits, so there is nothing else to wait for.
        serving: while true {
            let count: Int
            switch unsafe inbox.receive(from: socket, waits: true) {
            case .message(let frames), .oversized(let frames): count = frames
            case .empty: continue
            case .terminated, .failed: break serving
            }
            let message = inbox.message(frames: count)
            let reply = answer(message, count)
            outbox.add("1.0")
            // The request's id, if it came that far.
            if message.count > 1 {
                unsafe message.withBytes(ofFrame: 1) { unsafe outbox.add($0) }
            } else {
                outbox.addEmpty()
            }
            outbox.add(reply.status)
            outbox.add([UInt8](reply.text.utf8))
            outbox.add([UInt8](reply.userID.utf8))
            outbox.addEmpty()
            unsafe _ = outbox.transmit(to: socket)
            outbox.clear()
            inbox.clear(frames: count)
        }
        unsafe zmq_close(socket)
    }
}
