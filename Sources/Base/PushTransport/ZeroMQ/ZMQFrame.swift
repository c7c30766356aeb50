private import CZeroMQ

/// One frame: immutable bytes in memory of libzmq. Any thread may read and send it any number of times.
///
/// Taking a frame from a received message does not copy its bytes, and neither does sending it.
@safe
package final class ZMQFrame: @unchecked Sendable {
    // Unchecked: the message is written only in the initializers and in `deinit`, the bytes never.

    private let message: UnsafeMutablePointer<zmq_msg_t>
    private let bytes: UnsafeRawBufferPointer

    /// Creates a frame with a copy of `source`.
    package init(copying source: UnsafeRawBufferPointer) {
        unsafe message = .allocate(capacity: 1)
        precondition(unsafe zmq_msg_init_size(message, source.count) == 0, "out of memory for a frame")
        if let from = source.baseAddress, source.count > 0 {
            unsafe zmq_msg_data(message).copyMemory(from: from, byteCount: source.count)
        }
        unsafe bytes = UnsafeRawBufferPointer(start: zmq_msg_data(message), count: source.count)
    }

    package static func copying(_ source: [UInt8]) -> ZMQFrame {
        unsafe source.withUnsafeBytes { unsafe ZMQFrame(copying: $0) }
    }

    /// Moves the content out of an initialized `zmq_msg_t`, which is left empty.
    init(taking source: UnsafeMutableRawPointer) {
        unsafe message = .allocate(capacity: 1)
        unsafe zmq_msg_init(message)
        unsafe zmq_msg_move(message, source.assumingMemoryBound(to: zmq_msg_t.self))
        // Small content is stored within the message itself, so the address is read after the move.
        unsafe bytes = UnsafeRawBufferPointer(start: zmq_msg_data(message), count: zmq_msg_size(message))
    }

    deinit {
        unsafe zmq_msg_close(message)
        unsafe message.deallocate()
    }

    package var count: Int { unsafe bytes.count }

    /// Calls `body` with the bytes, which are valid during the call.
    package func withBytes<Result, Failure: Error>(
        _ body: (UnsafeRawBufferPointer) throws(Failure) -> Result
    ) throws(Failure) -> Result {
        unsafe try body(bytes)
    }

    /// A copy of the bytes.
    package var copied: [UInt8] { unsafe [UInt8](bytes) }
}
