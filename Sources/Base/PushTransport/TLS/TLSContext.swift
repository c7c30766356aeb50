private import COpenSSL

/// The TLS state that all connections of one peer or one listener share: trust, identity, protocols, saved sessions.
@safe
package final class TLSContext: @unchecked Sendable {
    // Unchecked: immutable after `init`. SSL_CTX synchronizes its reference counts and caches, and `sessions` has a
    // lock.

    let pointer: OpaquePointer
    let isServer: Bool
    /// The protocols that a client offers. It requires the server to select one of them.
    let alpn: [String]
    /// Whether the system's roots are to be trusted but are not installed, for error messages.
    private(set) var lacksSystemRoots = false
    /// The sessions that a client can resume.
    let sessions = TLSSessionCache()
    /// The server's protocols in wire format. The ALPN callback reads them; they never change or move.
    private let protocols: UnsafeMutableBufferPointer<UInt8>

    package static func client(_ configuration: TLSClientConfiguration) throws(TLSError) -> TLSContext {
        let context = try TLSContext(isServer: false, alpn: configuration.alpn)
        try context.limit(
            from: configuration.minVersion, to: configuration.maxVersion, ciphers: configuration.cipherSuites)
        if let identity = configuration.identity {
            try context.use(identity)
        }
        context.use(try configuration.trust.roots(), namesToClients: false)
        let pointer = unsafe context.pointer
        unsafe SSL_CTX_set_verify(pointer, SSL_VERIFY_PEER, noteVerifyFailure)
        unsafe COpenSSL_CTX_set_session_cache_mode(
            pointer, Int(SSL_SESS_CACHE_CLIENT) | Int(SSL_SESS_CACHE_NO_INTERNAL))
        unsafe SSL_CTX_sess_set_new_cb(pointer, noteNewSession)
        if !configuration.alpn.isEmpty {
            // Unlike related functions, it returns 0 on success.
            let result = unsafe SSL_CTX_set_alpn_protos(
                pointer, context.protocols.baseAddress, CUnsignedInt(context.protocols.count))
            guard result == 0 else { throw context.misconfigured("ALPN protocols") }
        }
        return context
    }

    package static func server(_ configuration: TLSServerConfiguration) throws(TLSError) -> TLSContext {
        let context = try TLSContext(isServer: true, alpn: configuration.alpn)
        try context.limit(
            from: configuration.minVersion, to: configuration.maxVersion, ciphers: configuration.cipherSuites)
        try context.use(configuration.identity)
        let pointer = unsafe context.pointer
        switch configuration.clientCertificates {
        case .none:
            break
        case .optional(let trust):
            context.use(try trust.roots(), namesToClients: true)
            unsafe SSL_CTX_set_verify(pointer, SSL_VERIFY_PEER, noteVerifyFailure)
        case .required(let trust):
            context.use(try trust.roots(), namesToClients: true)
            unsafe SSL_CTX_set_verify(
                pointer, SSL_VERIFY_PEER | SSL_VERIFY_FAIL_IF_NO_PEER_CERT, noteVerifyFailure)
        }
        // Tickets carry the sessions. A server cache would only grow.
        unsafe COpenSSL_CTX_set_session_cache_mode(pointer, Int(SSL_SESS_CACHE_OFF))
        // Without a session id context, OpenSSL refuses to resume sessions if client certificates are requested.
        let sessionContext = Array("carillon".utf8)
        unsafe SSL_CTX_set_session_id_context(pointer, sessionContext, CUnsignedInt(sessionContext.count))
        if !configuration.alpn.isEmpty {
            let argument = unsafe Unmanaged.passUnretained(context).toOpaque()
            unsafe SSL_CTX_set_alpn_select_cb(pointer, selectProtocol, argument)
        }
        return context
    }

    private init(isServer: Bool, alpn: [String]) throws(TLSError) {
        self.isServer = isServer
        self.alpn = alpn
        let wire = try Self.wireForm(of: alpn)
        OpenSSLErrors.clear()
        guard let pointer = unsafe SSL_CTX_new(isServer ? TLS_server_method() : TLS_client_method()) else {
            throw TLSError(.outOfMemory, message: "cannot create a TLS context: \(OpenSSLErrors.drain().text)")
        }
        unsafe self.pointer = pointer
        unsafe protocols = .allocate(capacity: wire.count)
        unsafe _ = protocols.initialize(from: wire)
        // Set here, so that the system's openssl.cnf cannot weaken it.
        unsafe SSL_CTX_set_security_level(pointer, 2)
        unsafe COpenSSL_CTX_forbid_renegotiation_and_compression(pointer)
        unsafe COpenSSL_CTX_clear_mode(pointer, Int(SSL_MODE_RELEASE_BUFFERS))
        unsafe COpenSSL_CTX_set_mode(
            pointer,
            Int(SSL_MODE_ENABLE_PARTIAL_WRITE) | Int(SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER) | Int(SSL_MODE_AUTO_RETRY))
        // Read all available bytes at once, instead of a header and then a record.
        unsafe COpenSSL_CTX_set_read_ahead(pointer, 1)
        unsafe SSL_CTX_set_default_read_buffer_len(pointer, 64 * 1024)
    }

    deinit {
        unsafe SSL_CTX_free(pointer)
        unsafe protocols.deallocate()
    }

    /// Returns a new `SSL *`. The caller owns it.
    ///
    /// - Important: The context must outlive it, because the ALPN callback reads the context.
    func makeSSL() -> OpaquePointer {
        guard let ssl = unsafe SSL_new(pointer) else { fatalError("out of memory") }
        return unsafe ssl
    }

    // MARK: Configuration

    private static func wireForm(of alpn: [String]) throws(TLSError) -> [UInt8] {
        var wire: [UInt8] = []
        for name in alpn {
            let bytes = Array(name.utf8)
            guard (1...255).contains(bytes.count) else {
                throw TLSError(
                    .invalidConfiguration, message: "an ALPN protocol has 1 to 255 bytes, not \(bytes.count)")
            }
            wire.append(UInt8(bytes.count))
            wire += bytes
        }
        guard wire.count <= 65_000 else { throw TLSError(.invalidConfiguration, message: "too many ALPN protocols") }
        return wire
    }

    private func misconfigured(_ what: String) -> TLSError {
        TLSError(.invalidConfiguration, message: "\(what) cannot be used for TLS: \(OpenSSLErrors.drain().text)")
    }

    private func limit(
        from minimum: TLSVersion, to maximum: TLSVersion, ciphers: TLSCipherSuites
    ) throws(TLSError) {
        OpenSSLErrors.clear()
        let lowest = minimum == .tls13 ? TLS1_3_VERSION : TLS1_2_VERSION
        let highest = maximum == .tls12 ? TLS1_2_VERSION : TLS1_3_VERSION
        guard lowest <= highest else {
            throw TLSError(.invalidConfiguration, message: "the maximum TLS version is below the minimum")
        }
        guard unsafe COpenSSL_CTX_set_min_version(pointer, lowest) == 1,
            unsafe COpenSSL_CTX_set_max_version(pointer, highest) == 1
        else { throw misconfigured("this range of TLS versions") }
        // Only ciphers with forward secrecy and authenticated encryption. AES-128 comes first because it is the
        // cheapest.
        let tls12 =
            ciphers.tls12
            ?? "ECDHE-ECDSA-AES128-GCM-SHA256:ECDHE-RSA-AES128-GCM-SHA256:ECDHE+AESGCM:ECDHE+CHACHA20"
        guard unsafe SSL_CTX_set_cipher_list(pointer, tls12) == 1 else {
            throw misconfigured("the TLS 1.2 cipher list \(printable(tls12))")
        }
        let tls13 =
            ciphers.tls13 ?? "TLS_AES_128_GCM_SHA256:TLS_AES_256_GCM_SHA384:TLS_CHACHA20_POLY1305_SHA256"
        guard unsafe SSL_CTX_set_ciphersuites(pointer, tls13) == 1 else {
            throw misconfigured("the TLS 1.3 cipher suites \(printable(tls13))")
        }
    }

    private func use(_ identity: TLSIdentity) throws(TLSError) {
        OpenSSLErrors.clear()
        let own = identity.chain[0]
        guard unsafe SSL_CTX_use_certificate(pointer, own.pointer) == 1 else {
            let errors = OpenSSLErrors.drain()
            let isSmall = errors.tlsReason == SSL_R_EE_KEY_TOO_SMALL
            throw TLSError(
                isSmall ? .keyTooSmall : .unsupportedKey,
                message: "certificate \(identity.certificate.subject) cannot be used for TLS: \(errors.text)")
        }
        guard unsafe SSL_CTX_use_PrivateKey(pointer, identity.key.pointer) == 1,
            unsafe SSL_CTX_check_private_key(pointer) == 1
        else {
            throw TLSError(
                .unsupportedKey,
                message: "the private key of \(identity.certificate.subject) (\(identity.key.kind)) cannot be used "
                    + "for TLS: \(OpenSSLErrors.drain().text)")
        }
        for certificate in identity.chain.dropFirst() {
            guard unsafe COpenSSL_CTX_add1_chain_certificate(pointer, certificate.pointer) == 1 else {
                throw TLSError(
                    .invalidConfiguration,
                    message: "certificate \(CertificateInfo(certificate).subject) cannot be added to the chain: "
                        + OpenSSLErrors.drain().text)
            }
        }
    }

    private func use(_ roots: TLSRoots, namesToClients: Bool) {
        lacksSystemRoots = roots.lacksSystemRoots
        unsafe SSL_CTX_set1_cert_store(pointer, roots.store)
        if namesToClients {
            for certificate in roots.own { unsafe SSL_CTX_add_client_CA(pointer, certificate.pointer) }
        }
        if !roots.own.isEmpty {
            // Certificates that are configured as trusted are trust anchors, even if they are not roots.
            unsafe X509_VERIFY_PARAM_set_flags(SSL_CTX_get0_param(pointer), UInt(X509_V_FLAG_PARTIAL_CHAIN))
        }
    }

    // MARK: Callbacks of OpenSSL

    /// Returns the first of our protocols, in our order, that the client offers as well.
    fileprivate func select(_ offered: UnsafeBufferPointer<UInt8>) -> UnsafeBufferPointer<UInt8>? {
        var ours = 0
        while unsafe ours < protocols.count {
            let length = unsafe Int(protocols[ours])
            let name = unsafe protocols[(ours + 1)..<(ours + 1 + length)]
            var theirs = 0
            while theirs < offered.count {
                let end = unsafe theirs + 1 + Int(offered[theirs])
                guard end <= offered.count else { return nil }
                if unsafe name.elementsEqual(offered[(theirs + 1)..<end]) {
                    return unsafe UnsafeBufferPointer(rebasing: UnsafeBufferPointer(protocols)[name.indices])
                }
                theirs = end
            }
            ours += 1 + length
        }
        return nil
    }
}

private func selectProtocol(
    _ ssl: OpaquePointer?, _ selected: UnsafeMutablePointer<UnsafePointer<UInt8>?>?,
    _ selectedLength: UnsafeMutablePointer<UInt8>?, _ offered: UnsafePointer<UInt8>?, _ offeredLength: CUnsignedInt,
    _ context: UnsafeMutableRawPointer?
) -> CInt {
    guard let context = unsafe context, let selected = unsafe selected, let selectedLength = unsafe selectedLength
    else { return SSL_TLSEXT_ERR_ALERT_FATAL }
    let owner = unsafe Unmanaged<TLSContext>.fromOpaque(context).takeUnretainedValue()
    let found = unsafe owner.select(UnsafeBufferPointer(start: offered, count: Int(offeredLength)))
    guard let found = unsafe found else { return SSL_TLSEXT_ERR_ALERT_FATAL }
    unsafe selected.pointee = found.baseAddress
    unsafe selectedLength.pointee = UInt8(found.count)
    return SSL_TLSEXT_ERR_OK
}
