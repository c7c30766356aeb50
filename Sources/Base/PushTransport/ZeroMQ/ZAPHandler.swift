private import CZeroMQ
private import Glibc
import PushLoop
import Synchronization

/// The handler that decides which CURVE clients may connect to the servers of a context, and under which user id.
///
/// It answers on its own thread for as long as its context exists, one request per handshake. A context has one handler
/// and one I/O thread. Create the handler before the servers bind. Replacing the users does not end established
/// connections: their messages keep the user id that they had.
///
/// A ROUTER identifies a CURVE client by a random routing id that the handler creates for each connection, not by the
/// one that the client sends. Otherwise any client could send the routing id of another, take over its connection and
/// read its answers.
package final class ZAPHandler: Sendable {
    /// The maximum number of keys of a handler.
    package static let maxUsers = 100_000

    /// A client that was refused.
    package struct Refusal: Sendable {
        package let domain: String
        package let address: String
        /// The key; nil if the client did not use CURVE or the request was malformed.
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
    /// - users: The users and the domains to which they may connect.
    /// - observer: Called on the handler's thread. The next handshake waits for it.
    /// - onFailure: Called on that thread when it could not receive a request. The handler tries again, unless the
    ///   error shows that its socket is closed: then no further client is admitted.
    package init(
        in context: ZMQContext, admitting users: [CurvePublicKey: ZAPUser],
        observer: @escaping @Sendable (Refusal) -> Void = { _ in },
        onFailure: @escaping @Sendable (ZMQError) -> Void = { _ in }
    ) throws(ZMQError) {
        try Self.check(users)
        self.users = Locked(users)
        self.observer = observer
        let responder = try ZAPResponder(in: context)
        _ = NamedThread(named: "zap") {
            unsafe responder.run(onFailure: onFailure) { message, frameCount in
                self.answer(message, frameCount: frameCount)
            }
        }
    }

    /// Replaces the users for future connections.
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
            throw ZMQError(.tooManyUsers, message: "too many CURVE users: \(users.count); the maximum is \(maxUsers)")
        }
        for (key, user) in users where !(1...255).contains(user.id.utf8.count) || user.id.utf8.contains(0) {
            throw ZMQError(
                .invalidOption, message: "CURVE user of key \(key): the name needs 1 to 255 bytes without NUL")
        }
    }

    private func answer(_ message: borrowing ZMQMessage, frameCount: Int) -> ZAPReply {
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
            // Only a socket without keys sends this. With CURVE, libzmq itself refuses all other mechanisms.
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

    /// Returns an unguessable routing id. It does not start with zero, because those of libzmq do.
    private static func newRoutingID() -> [UInt8] {
        [UInt8(ascii: "c")] + SecureRandom.bytes(16)
    }
}

/// The socket of the handler and the work of its thread: it receives requests and answers each of them.
@safe
struct ZAPResponder: @unchecked Sendable {
    // Unchecked: created on one thread and passed to another, never used by both.
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
            let error = ZMQError.last("start a ZAP handler (a context can have only one)")
            unsafe zmq_close(socket)
            barrier.close()
            throw error
        }
    }

    /// A function that waits for a request.
    typealias Receive = (UnsafeMutableRawPointer, borrowing ZMQInbox) -> ZMQInbox.Outcome

    /// Returns when the context ends, or when the socket is closed; in that case it calls `onFailure`. After other
    /// errors it receives again after a short pause.
    func run(
        receive: Receive = { socket, inbox in unsafe inbox.receive(from: socket, waits: true) },
        onFailure: (ZMQError) -> Void, _ answer: (borrowing ZMQMessage, _ frameCount: Int) -> ZAPReply
    ) {
        let inbox = ZMQInbox()
        var outbox = ZMQOutbox()
        // The end of the context wakes the blocking call, so nothing else needs to be watched.
        serving: while true {
            let count: Int
            switch unsafe receive(socket, inbox) {
            case .message(let frames), .oversized(let frames): count = frames
            case .terminated: break serving
            case .failed(ENOTSOCK):
                onFailure(
                    ZMQError(number: ENOTSOCK, action: "receive ZAP requests; no client is admitted until a restart"))
                break serving
            case .failed(let number):
                onFailure(ZMQError(number: number, action: "receive a ZAP request; retrying"))
                Self.rest()
                continue
            case .empty:
                // The socket is in the wrong state: a reply that could not be sent is still due. An empty reply
                // finishes that request.
                unsafe _ = zmq_send(socket, nil, 0, ZMQ_DONTWAIT)
                Self.rest()
                continue
            }
            let message = inbox.message(frames: count)
            var reply = answer(message, count)
            // The routing id of the reply takes effect only after the barrier.
            if !reply.metadata.isEmpty, !barrier.pass() { reply = .tryAgain }
            outbox.add("1.0")
            // The id of the request, if the message contains it.
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

    /// Pauses briefly, so that immediate failures do not keep the processor busy.
    private static func rest() {
        var time = timespec(tv_sec: 0, tv_nsec: 50_000_000)
        unsafe _ = nanosleep(&time, nil)
    }
}

extension ZAPHandler {
    /// Creates a handler for users that may connect to every domain, given by their ids.
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
