private import COpenSSL

/// What OpenSSL does when the process ends.
package enum OpenSSLAtExit {
    /// Has it keep what it holds until the process is gone. Else `exit` takes it down under threads that still use it: a
    /// loop that nobody waited for, or a library's own. Before anything else of OpenSSL is called.
    package static func leave() {
        _ = OPENSSL_init_crypto(UInt64(OPENSSL_INIT_NO_ATEXIT), nil)
    }
}
