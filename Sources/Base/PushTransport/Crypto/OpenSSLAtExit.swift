private import COpenSSL

/// The cleanup of OpenSSL when the process exits.
package enum OpenSSLAtExit {
    /// Disables OpenSSL's cleanup at exit. Otherwise `exit` frees its data while threads still use it: those of a loop
    /// that was not shut down, or of a library. Call it before any other function of OpenSSL.
    package static func leave() {
        _ = OPENSSL_init_crypto(UInt64(OPENSSL_INIT_NO_ATEXIT), nil)
    }
}
