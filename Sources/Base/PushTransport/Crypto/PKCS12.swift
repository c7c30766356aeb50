private import COpenSSL

/// A private key with its certificate and chain from a PKCS#12 file (`.p12`, `.pfx`).
///
/// Keychains still export with RC2-40, which OpenSSL 3 supports only in its legacy provider. Loading that provider into
/// the process's own context would disable the implicit default provider. A file is therefore opened in a temporary
/// context with both providers (see Certificates and keys with OpenSSL 3 in Documentation/Protocols.md). Key and
/// certificates are then moved into the default context.
package struct PKCS12: Sendable {
    /// The maximum file size. A key and a chain have some thousand bytes.
    package static let maxSize = 1 << 20
    /// The maximum number of MAC iterations. The file chooses the number, and the work is done before the password is
    /// verified. Tools use 2048 to 1000000.
    static let maxIterations = 5_000_000

    let name: String
    let key: KeyHandle
    /// The certificates; that of the key is the first.
    let chain: [X509Certificate]

    package init(file path: String, password: String? = nil) throws(CryptoError) {
        var bytes = try BoundedFile.read(path, limit: Self.maxSize)
        defer { wipe(&bytes) }
        try self.init(bytes: bytes, password: password, name: path)
    }

    /// Opens an archive. Never prompts. A missing or empty password is tried in both encodings of "no password". `name`
    /// identifies the source in errors.
    package init(bytes: [UInt8], password: String? = nil, name: String = "the given PKCS#12") throws(CryptoError) {
        try self.init(bytes: bytes, password: password, name: name, providers: .all)
    }

    enum Providers {
        case all
        /// As on systems without the legacy provider.
        case defaultOnly
    }

    init(bytes: [UInt8], password: String?, name: String, providers: Providers) throws(CryptoError) {
        guard bytes.count <= Self.maxSize else {
            throw CryptoError(.malformedPKCS12, message: "\(name) is too large for PKCS#12: over \(Self.maxSize) bytes")
        }
        if bytes.starts(with: Array("-----BEGIN".utf8)) {
            throw CryptoError(.malformedPKCS12, message: "\(name) is PEM, not PKCS#12")
        }
        guard !(password ?? "").utf8.contains(0) else {
            throw CryptoError(.wrongPassword, message: "\(name): a password cannot contain a zero byte")
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
                throw CryptoError(
                    .malformedCertificate, message: "\(name): a certificate in it cannot be read: \(error)")
            }
        }
        OpenSSLErrors.clear()
        guard let own = chain.first, unsafe X509_check_private_key(own.pointer, key.pointer) == 1 else {
            OpenSSLErrors.clear()
            throw CryptoError(.keyMismatch, message: "\(name): the private key in it matches none of its certificates")
        }
        self.name = name
        self.key = key
        self.chain = chain
    }
}

/// The content in DER, so that no object refers to the temporary context.
private struct PKCS12Contents {
    var key: [UInt8]
    var certificates: [[UInt8]]

    mutating func wipe() { PushTransport.wipe(&key) }
}

/// A temporary OpenSSL context with the providers that old files need, separate from the process's own context.
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
        // Some systems package the legacy provider separately. Most files can be read without it.
        unsafe legacy = providers == .all ? OSSL_PROVIDER_load(pointer, "legacy") : nil
        guard unsafe main != nil else {
            throw CryptoError(
                .failed, message: "OpenSSL's default provider cannot be loaded: \(OpenSSLErrors.drain().text)")
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
                .malformedPKCS12, message: "\(name) is not PKCS#12, or is damaged: \(OpenSSLErrors.drain().text)")
        }
        unsafe try checkPassword(password, of: archive, name: name)
        return unsafe try contents(of: archive, password: password, name: name)
    }

    private func checkPassword(_ password: String?, of archive: OpaquePointer, name: String) throws(CryptoError) {
        // Without a MAC, a wrong password cannot be distinguished from damage, and the work that the file requests has
        // no limit. OpenSSL 3.0 also cannot parse such a file with a password.
        guard unsafe PKCS12_mac_present(archive) == 1 else {
            throw CryptoError(
                .malformedPKCS12,
                message: "\(name) has no MAC, so its password cannot be verified; export it again, or convert it: "
                    + "openssl pkcs12 -in FILE -nodes -out push.pem")
        }
        var iterations: UnsafePointer<ASN1_INTEGER>?
        unsafe PKCS12_get0_mac(nil, nil, nil, &iterations, archive)
        if let iterations = unsafe iterations, unsafe !(0...PKCS12.maxIterations ~= ASN1_INTEGER_get(iterations)) {
            throw CryptoError(
                .malformedPKCS12,
                message: "\(name): its MAC needs more than \(PKCS12.maxIterations) iterations")
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
        if errors.isUnsupported { throw unsupportedEncryption(of: name, errors: errors) }
        throw isGiven
            ? CryptoError(.wrongPassword, message: "\(name): wrong password")
            : CryptoError(.missingPassword, message: "\(name) is protected by a password, and none was given")
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
            if errors.isUnsupported { throw unsupportedEncryption(of: name, errors: errors) }
            throw CryptoError(.malformedPKCS12, message: "\(name) is damaged: \(errors.text)")
        }
        let count = unsafe max(0, OPENSSL_sk_num(others))
        guard let key = unsafe key else {
            throw CryptoError(
                .noPrivateKey, message: "\(name) contains no private key; export the key together with its certificate")
        }
        guard let own = unsafe own else {
            throw count == 0
                ? CryptoError(.noCertificate, message: "\(name) contains a private key, but no certificate")
                : CryptoError(.keyMismatch, message: "\(name): the private key in it matches none of its certificates")
        }
        var certificates = unsafe [Self.der(ofCertificate: own)]
        for index in 0..<count {
            if let one = unsafe OPENSSL_sk_value(others, index) {
                unsafe certificates.append(Self.der(ofCertificate: OpaquePointer(one)))
            }
        }
        return unsafe PKCS12Contents(key: Self.der(ofKey: key), certificates: certificates)
    }

    private func unsupportedEncryption(of name: String, errors: OpenSSLErrors) -> CryptoError {
        let hasLegacy = unsafe legacy != nil
        return CryptoError(
            .unsupportedEncryption,
            message: hasLegacy
                ? "\(name) uses an encryption that OpenSSL does not support: \(errors.text)"
                : "\(name) is encrypted with RC2-40, which only OpenSSL's legacy provider supports, and this is not "
                    + "installed here: install it (newer Debian: openssl-provider-legacy), or convert the file where "
                    + "it is: openssl pkcs12 -legacy -in FILE -nodes")
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
                .malformedPKCS12,
                message: "\(name): the private key in it cannot be used: \(OpenSSLErrors.drain().text)")
        }
        unsafe self.init(owning: key)
        guard isConsistent else {
            throw CryptoError(.malformedPKCS12, message: "\(name): the private key in it is damaged")
        }
    }
}
