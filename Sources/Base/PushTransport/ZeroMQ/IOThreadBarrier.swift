private import CZeroMQ
import Glibc

/// A barrier that waits until a context's I/O thread has finished the work it had started before the call.
///
/// It is needed because of the way libzmq handles ZAP replies. `curve_server_t::process_initiate` (4.3.4 and 4.3.5)
/// sends the request, looks for a reply, and only then parses the client's own metadata. If the reply is already there,
/// the client's metadata, including its routing id, overrides the reply. A later reply takes precedence. There is no
/// issue about this in libzmq.
///
/// The barrier sends a message to itself through the I/O thread, which delivers it after all work that it had started
/// before. This holds for a context with one I/O thread. The two sockets are connected through an abstract address,
/// which every user of the machine can see and connect to, so only connections of this user are accepted.
@safe
final class IOThreadBarrier: @unchecked Sendable {
    // Unchecked: created on one thread and passed to another, never used by both.
    private let sender: UnsafeMutableRawPointer
    private let receiver: UnsafeMutableRawPointer
    private var number: UInt64 = 0
    /// The name of the abstract Unix socket that connects the two sockets.
    let name: String

    /// A timeout in milliseconds, far longer than an I/O thread is ever busy. After the timeout, a waiting connection
    /// is refused and tries again.
    private static let patience: CInt = 10_000

    init(in context: ZMQContext) throws(ZMQError) {
        let sender = unsafe try context.makeSocket(ZMQ_PAIR)
        let receiver: UnsafeMutableRawPointer
        do throws(ZMQError) {
            unsafe receiver = try context.makeSocket(ZMQ_PAIR)
        } catch {
            unsafe zmq_close(sender)
            throw error
        }
        unsafe (self.sender, self.receiver) = (sender, receiver)
        // The name is random, so that nobody can bind it first.
        name = "carillon-\(Hex.encode(SecureRandom.bytes(16)))"
        var (zero, patience) = (CInt(0), Self.patience)
        unsafe zmq_setsockopt(sender, ZMQ_LINGER, &zero, MemoryLayout<CInt>.size)
        unsafe zmq_setsockopt(sender, ZMQ_SNDTIMEO, &patience, MemoryLayout<CInt>.size)
        unsafe zmq_setsockopt(receiver, ZMQ_LINGER, &zero, MemoryLayout<CInt>.size)
        unsafe zmq_setsockopt(receiver, ZMQ_RCVTIMEO, &patience, MemoryLayout<CInt>.size)
        // A PAIR socket accepts only the first peer. It refuses others but keeps their descriptors, so other users must
        // not connect at all.
        var user = geteuid()
        let address = "ipc://@\(name)"
        guard unsafe zmq_setsockopt(receiver, ZMQ_IPC_FILTER_UID, &user, MemoryLayout<uid_t>.size) == 0,
            unsafe zmq_bind(receiver, address) == 0, unsafe zmq_connect(sender, address) == 0
        else {
            let error = ZMQError.last("connect a ZAP handler to the I/O thread")
            close()
            throw error
        }
    }

    /// Closes the sockets. Its owner must call it once, because the context waits for it.
    func close() {
        unsafe zmq_close(sender)
        unsafe zmq_close(receiver)
    }

    /// Waits for the I/O thread. Returns false if it did not respond in time or the context has ended.
    func pass() -> Bool {
        number += 1
        var sent = number
        while unsafe zmq_send(sender, &sent, MemoryLayout<UInt64>.size, 0) < 0 {
            guard zmq_errno() == EINTR else { return false }
        }
        var received: UInt64 = 0
        while received != number {
            // Smaller numbers belong to earlier calls that timed out.
            if unsafe zmq_recv(receiver, &received, MemoryLayout<UInt64>.size, 0) < 0, zmq_errno() != EINTR {
                return false
            }
        }
        return true
    }
}
