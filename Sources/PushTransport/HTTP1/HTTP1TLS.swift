private import COpenSSL

/// The TLS state of one connection: OpenSSL's object, which libevent uses and frees, configured for libevent.
@safe
struct HTTP1TLS {
    let pointer: OpaquePointer
    /// Retained because OpenSSL's callbacks use it during a handshake, and the server may have another context by then.
    private let context: TLSContext

    init(_ context: TLSContext) {
        self.context = context
        unsafe pointer = context.makeSSL()
        // libevent 2.1 continues with its next piece after a write, even if OpenSSL wrote only a part. With partial
        // writes, which the engine enables, data could be lost depending on the piece sizes. So they are disabled here.
        unsafe _ = SSL_ctrl(pointer, SSL_CTRL_CLEAR_MODE, Int(SSL_MODE_ENABLE_PARTIAL_WRITE), nil)
        // libevent waits for the socket even if OpenSSL has already read the data ahead, and would wait forever.
        unsafe SSL_set_read_ahead(pointer, 0)
    }

    /// Sends close_notify, so that the client knows that its data is complete. Does not wait for the client's answer.
    func sendCloseNotify() {
        guard unsafe SSL_is_init_finished(pointer) == 1 else { return }
        OpenSSLErrors.clear()
        unsafe _ = SSL_shutdown(pointer)
        OpenSSLErrors.clear()
    }
}
