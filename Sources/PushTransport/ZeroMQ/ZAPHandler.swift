private import CZeroMQ
private import Glibc
import PushLoop
import Synchronization

/// Decides which CURVE clients may connect to the servers of a context, and what they are called.
///
/// It answers on a thread of its own for as long as its context lives, one question per handshake. A context has one
/// handler and one I/O thread; make the handler before the servers bind. To replace the users does not end connections
/// that stand: their messages go on to carry the user id that they had.
///
/// A ROUTER knows a CURVE client by a routing id that the handler draws for each connection, and not by the one that the
/// client names: otherwise any client could name another's, take over its connection and read its answers.
package final class ZAPHandler: Sendable {
    /// Keys that a handler keeps at most.
    package static let maxUsers = 100_000

    /// A client that was not let in.
    package struct Refusal: Sendable {
        package let domain: String
        package let address: String
        /// Nil if the client did not use CURVE or the question was malformed.
        package let publicKey: CurvePublicKey?
        package let cause: ZAPRefusalCause
        package let reason: String
    }

    package struct Counts: Hashable, Sendable {
        package var accepted = 0
        package var refused = 0
        package var malformed = 0
    }

    private let users: Locked<[CurvePublicKey: ZAPUser]>
    private let accepted = Atomic<Int>(0)
    private let refused = Atomic<Int>(0)
    private let malformed = Atomic<Int>(0)
    private let observer: @Sendable (Refusal) -> Void

    /// Starts the thread.
    ///
    /// - Parameters:
    ///   - users: who may connect to which domains.
    ///   - observer: called on the handler's thread, which the next handshake waits for.
    ///   - troubled: called on that thread when it could not receive a question. It tries again, unless the error says
    ///     that its socket is gone: then nobody is let in any more.
    package init(
        in context: ZMQContext, admitting users: [CurvePublicKey: ZAPUser],
        observer: @escaping @Sendable (Refusal) -> Void = { _ in },
        troubled: @escaping @Sendable (ZMQError) -> Void = { _ in }
    ) throws(ZMQError) {
        try Self.check(users)
        self.users = Locked(users)
        self.observer = observer
        let responder = try ZAPResponder(in: context)
        _ = NamedThread(named: "zap") {
            unsafe responder.run(troubled: troubled) { message, frameCount in self.answer(message, frameCount) }
        }
    }

    /// Who may in from now on.
    package func admit(_ users: [CurvePublicKey: ZAPUser]) throws(ZMQError) {
        try Self.check(users)
        self.users.withLock { $0 = users }
    }

    package var counts: Counts {
        Counts(
            accepted: accepted.load(ordering: .relaxed), refused: refused.load(ordering: .relaxed),
            malformed: malformed.load(ordering: .relaxed))
    }

    private static func check(_ users: [CurvePublicKey: ZAPUser]) throws(ZMQError) {
        guard users.count <= maxUsers else {
            throw ZMQError(.tooManyUsers, "\(users.count) CURVE users: at most \(maxUsers) are allowed")
        }
        for (key, user) in users where !(1...255).contains(user.id.utf8.count) || user.id.utf8.contains(0) {
            throw ZMQError(.invalidOption, "CURVE user of key \(key): the name needs 1 to 255 bytes without NUL")
        }
    }

    private func answer(_ message: borrowing ZMQMessage, _ frameCount: Int) -> ZAPReply {
        do throws(ZAPRequest.Fault) {
            guard frameCount <= message.count else { throw .tooManyFrames(frameCount) }
            return decide(try ZAPRequest(message))
        } catch {
            malformed.add(1, ordering: .relaxed)
            observer(Refusal(domain: "", address: "", publicKey: nil, cause: .malformed, reason: error.text))
            return .failed(error.text)
        }
    }

    private func decide(_ request: ZAPRequest) -> ZAPReply {
        let key: CurvePublicKey?
        let cause: ZAPRefusalCause
        let reason: String
        switch request.mechanism {
        case .curve(let publicKey):
            let user = users.withLock { $0[publicKey] }
            if let user, user.mayConnect(to: request.domain) {
                accepted.add(1, ordering: .relaxed)
                return .accepted(userID: user.id, routingID: Self.newRoutingID())
            }
            key = publicKey
            cause = user == nil ? .unknownKey : .missingRight
            reason = user == nil ? "unknown public key" : "this key may not connect to \(request.domain)"
        case .other("NULL") where request.domain == ZMQSecurity.openDomain:
            // Only a socket without keys asks this: with CURVE libzmq refuses every other mechanism by itself.
            accepted.add(1, ordering: .relaxed)
            return .accepted(userID: "")
        case .other(let name):
            key = nil
            cause = .mechanism
            reason = "CURVE is required, not \(name)"
        }
        refused.add(1, ordering: .relaxed)
        observer(
            Refusal(domain: request.domain, address: request.address, publicKey: key, cause: cause, reason: reason))
        return .refused(reason)
    }

    /// Unguessable, and not beginning with a zero, as those do that libzmq makes up.
    private static func newRoutingID() -> [UInt8] {
        [UInt8(ascii: "c")] + SecureRandom.bytes(16)
    }
}

/// The socket of the handler, and the thread's work: read, answer, always answer.
@safe
struct ZAPResponder: @unchecked Sendable {
    // Unchecked: made on one thread and handed to another, never used on both.
    private let socket: UnsafeMutableRawPointer
    private let barrier: IOThreadBarrier

    init(in context: ZMQContext) throws(ZMQError) {
        let barrier = try IOThreadBarrier(in: context)
        self.barrier = barrier
        do throws(ZMQError) {
            unsafe socket = try context.makeSocket(ZMQ_REP)
        } catch {
            barrier.close()
            throw error
        }
        var zero: CInt = 0
        unsafe zmq_setsockopt(socket, ZMQ_LINGER, &zero, MemoryLayout<CInt>.size)
        guard unsafe zmq_bind(socket, "inproc://zeromq.zap.01") == 0 else {
            let error = ZMQError.last("start a ZAP handler (a context has one)")
            unsafe zmq_close(socket)
            barrier.close()
            throw error
        }
    }

    /// How it waits for a question.
    typealias Receive = (UnsafeMutableRawPointer, borrowing ZMQInbox) -> ZMQInbox.Outcome

    /// Returns when the context ends, or when the socket is gone, which `troubled` is then called for. After any other
    /// error it receives again, a moment later.
    func run(
        receive: Receive = { socket, inbox in unsafe inbox.receive(from: socket, waits: true) },
        troubled: (ZMQError) -> Void, _ answer: (borrowing ZMQMessage, _ frameCount: Int) -> ZAPReply
    ) {
        let inbox = ZMQInbox()
        var outbox = ZMQOutbox()
        // A context that ends wakes the call that waits, so there is nothing else to wait for.
        serving: while true {
            let count: Int
            switch unsafe receive(socket, inbox) {
            case .message(let frames), .oversized(let frames): count = frames
            case .terminated: break serving
            case .failed(ENOTSOCK):
                troubled(ZMQError(number: ENOTSOCK, "ask who may connect; no client is let in until a restart"))
                break serving
            case .failed(let number):
                troubled(ZMQError(number: number, "ask who may connect; it is tried again"))
                Self.rest()
                continue
            case .empty:
                // Not its turn: an answer is due that did not go out. An empty one puts an end to that question.
                unsafe _ = zmq_send(socket, nil, 0, ZMQ_DONTWAIT)
                Self.rest()
                continue
            }
            let message = inbox.message(frames: count)
            var reply = answer(message, count)
            // Only after this the routing id that it brings is the one that counts.
            if !reply.metadata.isEmpty, !barrier.pass() { reply = .tryAgain }
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
            outbox.add(reply.metadata)
            unsafe _ = outbox.transmit(to: socket)
            outbox.clear()
            inbox.clear(frames: count)
        }
        unsafe zmq_close(socket)
        barrier.close()
    }

    /// What fails at once must not fail as often as the processor can.
    private static func rest() {
        var time = timespec(tv_sec: 0, tv_nsec: 50_000_000)
        unsafe _ = nanosleep(&time, nil)
    }
}

extension ZAPHandler {
    /// Users that may connect to every domain, by what they are called.
    package convenience init(
        in context: ZMQContext, users: [CurvePublicKey: String],
        observer: @escaping @Sendable (Refusal) -> Void = { _ in }
    ) throws(ZMQError) {
        try self.init(in: context, admitting: users.mapValues { ZAPUser(id: $0) }, observer: observer)
    }

    package func replaceUsers(_ users: [CurvePublicKey: String]) throws(ZMQError) {
        try admit(users.mapValues { ZAPUser(id: $0) })
    }
}
