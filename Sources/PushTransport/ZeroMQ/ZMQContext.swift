private import CZeroMQ
import PushLoop
import Synchronization

/// A libzmq context: its I/O threads, and the sockets made in it. Inproc endpoints and the ZAP handler belong to one.
///
/// Whoever makes a context ends it with `terminate`.
@safe
package final class ZMQContext: @unchecked Sendable {
    // Unchecked: libzmq's contexts may be used from any thread; `state` guards against use after the end.

    private enum State {
        case open
        case terminating([CheckedContinuation<Void, Never>])
        case terminated
    }

    private let context: UnsafeMutableRawPointer
    private let state = Locked(State.open)
    private let names = Atomic<UInt64>(0)

    /// - Parameter ioThreads: libzmq's own; one moves about a gigabyte a second.
    package init(ioThreads: Int = 1, maxSockets: Int = 1023) throws(ZMQError) {
        guard let context = unsafe zmq_ctx_new() else { throw .last("make a ZeroMQ context") }
        unsafe self.context = context
        guard
            unsafe zmq_ctx_set(context, ZMQ_IO_THREADS, CInt(clamping: ioThreads)) == 0,
            unsafe zmq_ctx_set(context, ZMQ_MAX_SOCKETS, CInt(clamping: maxSockets)) == 0
        else {
            throw .last("make a ZeroMQ context with \(ioThreads) I/O threads and \(maxSockets) sockets")
        }
    }

    deinit {
        // Sockets hold their context, so none is open; but closed ones may still linger, and that must not block here.
        if case .open = state.withLock({ $0 }) {
            unsafe Self.end(context) {}
        }
    }

    /// Ends the context: sockets that are still open are woken and close themselves on their loops, what closed
    /// sockets still have to send is sent for as long as their linger allows. Returns when all is gone; may be called
    /// twice. The loops of its sockets must still run.
    package func terminate() async {
        await withCheckedContinuation { continuation in
            let (isFirst, isOver) = state.withLock { state in
                switch state {
                case .open:
                    state = .terminating([continuation])
                    return (true, false)
                case .terminating(let waiting):
                    state = .terminating(waiting + [continuation])
                    return (false, false)
                case .terminated:
                    return (false, true)
                }
            }
            if isFirst { unsafe Self.end(context) { self.ended() } }
            if isOver { continuation.resume() }
        }
    }

    private func ended() {
        let waiting = state.withLock { state in
            guard case .terminating(let waiting) = state else { return [CheckedContinuation<Void, Never>]() }
            state = .terminated
            return waiting
        }
        for continuation in waiting { continuation.resume() }
    }

    private static func end(_ context: UnsafeMutableRawPointer, then finished: @escaping @Sendable () -> Void) {
        nonisolated(unsafe) let context = unsafe context
        // Shutting down wakes every socket; terminating waits for them, which is why it has a thread of its own.
        unsafe zmq_ctx_shutdown(context)
        _ = NamedThread(named: "zmq-end") {
            while unsafe zmq_ctx_term(context) != 0, zmq_errno() == EINTR {}
            finished()
        }
    }

    /// A new socket of libzmq. The caller closes it.
    func makeSocket(_ type: CInt) throws(ZMQError) -> UnsafeMutableRawPointer {
        // Under the lock, so that the context cannot go between the check and the use.
        let made: Swift.Result<SocketHandle, ZMQError> = state.withLock { state in
            guard case .open = state else {
                return .failure(ZMQError(.terminated, "cannot make a socket: the ZeroMQ context has ended"))
            }
            guard let socket = unsafe zmq_socket(context, type) else { return .failure(.last("make a socket")) }
            return unsafe .success(SocketHandle(pointer: socket))
        }
        return unsafe try made.get().pointer
    }

    /// Carries the pointer out of the lock.
    @safe
    private struct SocketHandle: @unchecked Sendable {
        // Unchecked: a socket that nobody else knows yet.
        let pointer: UnsafeMutableRawPointer
    }

    /// An inproc endpoint that no one else has.
    func uniqueEndpoint(for purpose: String) -> String {
        "inproc://carillon.\(purpose).\(names.wrappingAdd(1, ordering: .relaxed).newValue)"
    }
}
