private import COpenSSL

/// The properties that both sides negotiated.
package struct TLSSessionInfo: Sendable {
    /// `TLSv1.2` or `TLSv1.3`.
    package let protocolVersion: String
    package let cipher: String
    package let alpn: String?
    /// Whether an earlier session was resumed, without an exchange of certificates.
    package let isResumed: Bool
    package let peerCertificate: CertificateInfo?

    init(of ssl: OpaquePointer) {
        protocolVersion = unsafe String(cString: SSL_get_version(ssl))
        cipher = unsafe SSL_CIPHER_get_name(SSL_get_current_cipher(ssl)).map { unsafe String(cString: $0) } ?? "none"
        var name: UnsafePointer<UInt8>?
        var length: CUnsignedInt = 0
        unsafe SSL_get0_alpn_selected(ssl, &name, &length)
        if let name = unsafe name, length > 0 {
            alpn = unsafe String(decoding: UnsafeBufferPointer(start: name, count: Int(length)), as: UTF8.self)
        } else {
            alpn = nil
        }
        isResumed = unsafe SSL_session_reused(ssl) == 1
        peerCertificate = unsafe SSL_get1_peer_certificate(ssl).map {
            unsafe CertificateInfo(X509Certificate(owning: $0))
        }
    }
}
