private import COpenSSL

/// The TLS of one connection: OpenSSL's object, which libevent drives and frees, set up so that libevent can.
@safe
struct HTTP1TLS {
    let pointer: OpaquePointer
    /// OpenSSL's callbacks refer to it during a handshake, and the server may have another one by then.
    private let context: TLSContext

    init(_ context: TLSContext) {
        self.context = context
        unsafe pointer = context.makeSSL()
        // libevent 2.1 goes on with its next piece after a write, however much was written. That nothing is lost with
        // partial writes, which the engine likes, hangs on the sizes of its pieces; without them it does not.
        unsafe _ = SSL_ctrl(pointer, SSL_CTRL_CLEAR_MODE, Int(SSL_MODE_ENABLE_PARTIAL_WRITE), nil)
        // It waits for the socket where OpenSSL has read ahead already, and would wait for ever.
        unsafe SSL_set_read_ahead(pointer, 0)
    }

    /// Tells the client that what it has is complete. Does not wait for its answer.
    func sayGoodbye() {
        guard unsafe SSL_is_init_finished(pointer) == 1 else { return }
        OpenSSLErrors.clear()
        unsafe _ = SSL_shutdown(pointer)
        OpenSSLErrors.clear()
    }
}
