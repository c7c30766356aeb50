private import COpenSSL

/// A private key with its certificate and chain, out of a PKCS#12 file (`.p12`, `.pfx`).
///
/// Keychains still export with RC2-40, which OpenSSL 3 has in its legacy provider only. To load that one into the
/// process's own context would switch the implicit default provider off, so a file is opened in a context of its own
/// that has both and is gone afterwards (PROTOCOLS C); key and certificates then move into the usual one.
package struct PKCS12: Sendable {
    /// The largest file that is read: a key and a chain have some thousand bytes.
    package static let maximumSize = 1 << 20
    /// A file may ask for any amount of work before the password is known to be right; tools ask for 2048 to 1000000.
    static let maximumIterations = 5_000_000

    let name: String
    let key: KeyHandle
    /// The key's own certificate first.
    let chain: [X509Certificate]

    package init(file path: String, password: String? = nil) throws(CryptoError) {
        var bytes = try BoundedFile.read(path, limit: Self.maximumSize)
        defer { wipe(&bytes) }
        try self.init(bytes: bytes, password: password, name: path)
    }

    /// Never prompts. Without a password, or with an empty one, both of the forms in which "none" is written are tried.
    /// `name` is what errors call it.
    package init(bytes: [UInt8], password: String? = nil, name: String = "the given PKCS#12") throws(CryptoError) {
        try self.init(bytes: bytes, password: password, name: name, providers: .all)
    }

    enum Providers {
        case all
        /// As where the legacy provider is not installed.
        case defaultOnly
    }

    init(bytes: [UInt8], password: String?, name: String, providers: Providers) throws(CryptoError) {
        guard bytes.count <= Self.maximumSize else {
            throw CryptoError(.malformedPKCS12, "\(name) is too large for PKCS#12: over \(Self.maximumSize) bytes")
        }
        if bytes.starts(with: Array("-----BEGIN".utf8)) {
            throw CryptoError(.malformedPKCS12, "\(name) is PEM, not PKCS#12")
        }
        guard !(password ?? "").utf8.contains(0) else {
            throw CryptoError(.wrongPassword, "\(name): a password cannot have a zero byte in it")
        }
        let context = try PKCS12Context(providers)
        var contents = try context.open(bytes, password: password, name: name)
        defer { contents.wipe() }
        let key = try KeyHandle(der: contents.key, name: name)
        var chain: [X509Certificate] = []
        for der in contents.certificates {
            do {
                chain.append(try CertificateInfo(der: der).certificate)
            } catch {
                throw CryptoError(.malformedCertificate, "\(name): a certificate in it cannot be read: \(error)")
            }
        }
        OpenSSLErrors.clear()
        guard let own = chain.first, unsafe X509_check_private_key(own.pointer, key.pointer) == 1 else {
            OpenSSLErrors.clear()
            throw CryptoError(.keyMismatch, "\(name): the private key in it belongs to none of its certificates")
        }
        self.name = name
        self.key = key
        self.chain = chain
    }
}

/// Everything in DER, so that nothing of the context it came from stays behind.
private struct PKCS12Contents {
    var key: [UInt8]
    var certificates: [[UInt8]]

    mutating func wipe() { PushTransport.wipe(&key) }
}

/// OpenSSL with the providers that old files need, apart from the process's own.
@safe
private struct PKCS12Context: ~Copyable {
    private let pointer: OpaquePointer
    private let main: OpaquePointer?
    private let legacy: OpaquePointer?

    init(_ providers: PKCS12.Providers) throws(CryptoError) {
        OpenSSLErrors.clear()
        guard let pointer = unsafe OSSL_LIB_CTX_new() else { fatalError("out of memory") }
        unsafe self.pointer = pointer
        unsafe main = OSSL_PROVIDER_load(pointer, "default")
        // Some systems package it apart: without it most files can be read all the same.
        unsafe legacy = providers == .all ? OSSL_PROVIDER_load(pointer, "legacy") : nil
        guard unsafe main != nil else {
            throw CryptoError(.failed, "OpenSSL's default provider cannot be loaded: \(OpenSSLErrors.drain().text)")
        }
        OpenSSLErrors.clear()
    }

    deinit {
        if let legacy = unsafe legacy { unsafe _ = OSSL_PROVIDER_unload(legacy) }
        if let main = unsafe main { unsafe _ = OSSL_PROVIDER_unload(main) }
        unsafe OSSL_LIB_CTX_free(pointer)
    }

    func open(_ bytes: [UInt8], password: String?, name: String) throws(CryptoError) -> PKCS12Contents {
        OpenSSLErrors.clear()
        var archive = unsafe PKCS12_init_ex(NID_pkcs7_data, pointer, nil)
        defer { unsafe PKCS12_free(archive) }
        let isRead = unsafe bytes.withUnsafeBufferPointer { bytes in
            var position = bytes.baseAddress
            return unsafe d2i_PKCS12(&archive, &position, bytes.count) != nil
        }
        guard isRead, let archive = unsafe archive else {
            throw CryptoError(
                .malformedPKCS12, "\(name) is not PKCS#12, or is damaged: \(OpenSSLErrors.drain().text)")
        }
        unsafe try checkPassword(password, of: archive, name: name)
        return unsafe try contents(of: archive, password: password, name: name)
    }

    private func checkPassword(_ password: String?, of archive: OpaquePointer, name: String) throws(CryptoError) {
        // Nothing would tell a wrong password from damage, or bound the work that the file asks for. OpenSSL 3.0 does not
        // parse one with a password either.
        guard unsafe PKCS12_mac_present(archive) == 1 else {
            throw CryptoError(
                .malformedPKCS12,
                "\(name) has no check value (MAC), so that no password can be checked; export it again, or convert it: "
                    + "openssl pkcs12 -in FILE -nodes -out push.pem")
        }
        var iterations: UnsafePointer<ASN1_INTEGER>?
        unsafe PKCS12_get0_mac(nil, nil, nil, &iterations, archive)
        if let iterations = unsafe iterations, unsafe !(0...PKCS12.maximumIterations ~= ASN1_INTEGER_get(iterations)) {
            throw CryptoError(
                .malformedPKCS12,
                "\(name): checking its password would take more than \(PKCS12.maximumIterations) rounds")
        }
        OpenSSLErrors.clear()
        let isGiven = !(password ?? "").isEmpty
        if isGiven {
            if unsafe PKCS12_verify_mac(archive, password, -1) == 1 { return }
        } else if unsafe PKCS12_verify_mac(archive, nil, 0) == 1 || PKCS12_verify_mac(archive, "", 0) == 1 {
            OpenSSLErrors.clear()
            return
        }
        let errors = OpenSSLErrors.drain()
        if errors.saysUnsupported { throw unsupported(name, errors) }
        throw isGiven
            ? CryptoError(.wrongPassword, "\(name): the password does not open it")
            : CryptoError(.missingPassword, "\(name) is protected by a password, and none was given")
    }

    private func contents(
        of archive: OpaquePointer, password: String?, name: String
    ) throws(CryptoError) -> PKCS12Contents {
        OpenSSLErrors.clear()
        var key: OpaquePointer?
        var own: OpaquePointer?
        var others: OpaquePointer?
        let isParsed = unsafe PKCS12_parse(archive, password, &key, &own, &others)
        defer {
            unsafe EVP_PKEY_free(key)
            unsafe X509_free(own)
            while let one = unsafe OPENSSL_sk_pop(others) { unsafe X509_free(OpaquePointer(one)) }
            unsafe OPENSSL_sk_free(others)
        }
        let errors = OpenSSLErrors.drain()
        guard isParsed == 1 else {
            if errors.saysUnsupported { throw unsupported(name, errors) }
            throw CryptoError(.malformedPKCS12, "\(name) is damaged: \(errors.text)")
        }
        let count = unsafe max(0, OPENSSL_sk_num(others))
        guard let key = unsafe key else {
            throw CryptoError(
                .noPrivateKey, "\(name) has no private key in it; export the key together with its certificate")
        }
        guard let own = unsafe own else {
            throw count == 0
                ? CryptoError(.noCertificate, "\(name) has a private key in it, but no certificate")
                : CryptoError(.keyMismatch, "\(name): the private key in it belongs to none of its certificates")
        }
        var certificates = unsafe [Self.der(ofCertificate: own)]
        for index in 0..<count {
            if let one = unsafe OPENSSL_sk_value(others, index) {
                unsafe certificates.append(Self.der(ofCertificate: OpaquePointer(one)))
            }
        }
        return unsafe PKCS12Contents(key: Self.der(ofKey: key), certificates: certificates)
    }

    private func unsupported(_ name: String, _ errors: OpenSSLErrors) -> CryptoError {
        let hasLegacy = unsafe legacy != nil
        return CryptoError(
            .unsupportedEncryption,
            hasLegacy
                ? "\(name) is encrypted in a way that OpenSSL does not know: \(errors.text)"
                : "\(name) is encrypted in the old way (RC2-40), and OpenSSL's legacy provider, which reads that, is not "
                    + "installed here: install it (newer Debian: openssl-provider-legacy), or convert the file where it "
                    + "is: openssl pkcs12 -legacy -in FILE -nodes")
    }

    private static func der(ofCertificate pointer: OpaquePointer) -> [UInt8] {
        CertificateInfo(unsafe X509Certificate(sharing: pointer)).der
    }

    private static func der(ofKey pointer: OpaquePointer) -> [UInt8] {
        let length = unsafe i2d_PrivateKey(pointer, nil)
        guard length > 0 else { return [] }
        var bytes = [UInt8](repeating: 0, count: Int(length))
        unsafe bytes.withUnsafeMutableBufferPointer { bytes in
            var position = bytes.baseAddress
            unsafe _ = i2d_PrivateKey(pointer, &position)
        }
        return bytes
    }
}

extension KeyHandle {
    fileprivate convenience init(der: [UInt8], name: String) throws(CryptoError) {
        OpenSSLErrors.clear()
        let key = unsafe der.withUnsafeBufferPointer { bytes in
            var position = bytes.baseAddress
            return unsafe d2i_AutoPrivateKey(nil, &position, bytes.count)
        }
        guard let key = unsafe key else {
            throw CryptoError(
                .malformedPKCS12, "\(name): the private key in it cannot be used: \(OpenSSLErrors.drain().text)")
        }
        unsafe self.init(owning: key)
        guard isConsistent else {
            throw CryptoError(.malformedPKCS12, "\(name): the private key in it is damaged")
        }
    }
}
