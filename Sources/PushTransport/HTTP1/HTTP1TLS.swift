private import COpenSSL

/// The TLS of one connection: OpenSSL's object, which libevent drives and frees, set up so that libevent can.
@safe
struct HTTP1TLS {
    let pointer: OpaquePointer

    init(_ context: TLSContext) {
        unsafe pointer = context.makeSSL()
        // libevent 2.1 goes on with the next piece after a write, as if all of the one before were out. With partial
        // writes, which the engine likes, an answer of more than a record would lose bytes.
        unsafe _ = SSL_ctrl(pointer, SSL_CTRL_CLEAR_MODE, Int(SSL_MODE_ENABLE_PARTIAL_WRITE), nil)
        // It waits for the socket where OpenSSL has read ahead already, and would wait for ever.
        unsafe SSL_set_read_ahead(pointer, 0)
    }

    /// Takes what is left of a record that libevent stopped in the middle of: it would not come back for it before
    /// the client sends more. Does not touch the socket.
    func takePending(into bytes: inout ByteQueue) {
        while true {
            let count = unsafe Int(SSL_pending(pointer))
            guard count > 0 else { return }
            var taken = 0
            unsafe bytes.append(upTo: count) { room in
                unsafe taken = max(0, Int(SSL_read(pointer, room.baseAddress, CInt(count))))
                return taken
            }
            guard taken > 0 else { return OpenSSLErrors.clear() }
        }
    }

    /// Tells the client that what it has is complete. Does not wait for its answer.
    func sayGoodbye() {
        guard unsafe SSL_is_init_finished(pointer) == 1 else { return }
        OpenSSLErrors.clear()
        unsafe _ = SSL_shutdown(pointer)
        OpenSSLErrors.clear()
    }
}
