private import CZeroMQ
import Glibc

/// Waits until a context's I/O thread has finished what it was doing when it was asked.
///
/// Used for libzmq's handling of ZAP replies: `curve_server_t::process_initiate` (4.3.4 and 4.3.5) sends the request,
/// looks for a reply, and only then parses the client's own metadata. A reply that is there by then is overridden by
/// what the client says of itself, its routing id included; a reply that comes later wins. libzmq has no issue for it.
///
/// It sends itself a message through the I/O thread, which delivers it after all that it had begun before. This holds for
/// a context with one I/O thread. The two sockets are connected over an abstract address, which every user of the machine
/// can see and connect to: only connections of this user are taken.
@safe
final class IOThreadBarrier: @unchecked Sendable {
    // Unchecked: made on one thread and handed to another, never used on both.
    private let sender: UnsafeMutableRawPointer
    private let receiver: UnsafeMutableRawPointer
    private var number: UInt64 = 0
    /// Where the two sockets meet: the name of an abstract Unix socket.
    let name: String

    /// Far longer than an I/O thread is ever busy; a connection that waits for so long is refused, and tries again.
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
        // Not to be guessed, so that nobody can have it before.
        name = "carillon-\(Hex.encode(SecureRandom.bytes(16)))"
        var (zero, patience) = (CInt(0), Self.patience)
        unsafe zmq_setsockopt(sender, ZMQ_LINGER, &zero, MemoryLayout<CInt>.size)
        unsafe zmq_setsockopt(sender, ZMQ_SNDTIMEO, &patience, MemoryLayout<CInt>.size)
        unsafe zmq_setsockopt(receiver, ZMQ_LINGER, &zero, MemoryLayout<CInt>.size)
        unsafe zmq_setsockopt(receiver, ZMQ_RCVTIMEO, &patience, MemoryLayout<CInt>.size)
        // A PAIR takes one peer, and the first. Others it refuses, but keeps their descriptors; so they are not to get in.
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

    /// Once, by its owner: the context waits for it.
    func close() {
        unsafe zmq_close(sender)
        unsafe zmq_close(receiver)
    }

    /// False when the I/O thread did not get to it in time, or the context has ended.
    func pass() -> Bool {
        number += 1
        var sent = number
        while unsafe zmq_send(sender, &sent, MemoryLayout<UInt64>.size, 0) < 0 {
            guard zmq_errno() == EINTR else { return false }
        }
        var received: UInt64 = 0
        while received != number {
            // Earlier numbers are those that nobody waited for any more.
            if unsafe zmq_recv(receiver, &received, MemoryLayout<UInt64>.size, 0) < 0, zmq_errno() != EINTR {
                return false
            }
        }
        return true
    }
}
