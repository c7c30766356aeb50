private import CZeroMQ
import PushLoop
import Synchronization

/// A libzmq context: its I/O threads and its sockets. Inproc endpoints and the ZAP handler belong to one context.
///
/// The creator of a context must end it with ``terminate()``.
@safe
package final class ZMQContext: @unchecked Sendable {
    // Unchecked: libzmq's contexts are thread-safe, and `state` prevents use after the end.

    private enum State {
        case open
        case terminating([CheckedContinuation<Void, Never>])
        case terminated
    }

    private let context: UnsafeMutableRawPointer
    private let state = Locked(State.open)
    private let names = Atomic<UInt64>(0)

    /// - Parameter ioThreads: The number of libzmq's I/O threads. One thread transfers about a gigabyte per second.
    package init(ioThreads: Int = 1, maxSockets: Int = 1023) throws(ZMQError) {
        guard let context = unsafe zmq_ctx_new() else { throw .last("create a ZeroMQ context") }
        unsafe self.context = context
        guard
            unsafe zmq_ctx_set(context, ZMQ_IO_THREADS, CInt(clamping: ioThreads)) == 0,
            unsafe zmq_ctx_set(context, ZMQ_MAX_SOCKETS, CInt(clamping: maxSockets)) == 0
        else {
            throw .last("create a ZeroMQ context with \(ioThreads) I/O threads and \(maxSockets) sockets")
        }
    }

    deinit {
        // Sockets retain their context, so none is open. But closed sockets may still linger, which must not block
        // here.
        if case .open = state.withLock({ $0 }) {
            unsafe Self.end(context) {}
        }
    }

    /// Ends the context. Open sockets are woken and close themselves on their loops. Queued messages of closed sockets
    /// are sent for as long as their linger time allows. Returns when all sockets are closed; may be called twice. The
    /// loops of its sockets must still run.
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
        // The shutdown wakes every socket. Terminating waits for the sockets, so it needs its own thread.
        unsafe zmq_ctx_shutdown(context)
        _ = NamedThread(named: "zmq-end") {
            while unsafe zmq_ctx_term(context) != 0, zmq_errno() == EINTR {}
            finished()
        }
    }

    /// Creates a libzmq socket. The caller must close it.
    func makeSocket(_ type: CInt) throws(ZMQError) -> UnsafeMutableRawPointer {
        // Create it under the lock, so that the context cannot end between the check and the use.
        let made: Swift.Result<SocketHandle, ZMQError> = state.withLock { state in
            guard case .open = state else {
                return .failure(ZMQError(.terminated, message: "cannot create a socket: the ZeroMQ context has ended"))
            }
            guard let socket = unsafe zmq_socket(context, type) else { return .failure(.last("create a socket")) }
            return unsafe .success(SocketHandle(pointer: socket))
        }
        return unsafe try made.get().pointer
    }

    /// Carries the pointer out of the lock.
    @safe
    private struct SocketHandle: @unchecked Sendable {
        // Unchecked: no other code has access to the socket yet.
        let pointer: UnsafeMutableRawPointer
    }

    /// Returns a new unique inproc endpoint.
    func uniqueEndpoint(for purpose: String) -> String {
        "inproc://carillon.\(purpose).\(names.wrappingAdd(1, ordering: .relaxed).newValue)"
    }
}
