private import COpenSSL
private import PushLoop

/// A certificate under construction. It owns its OpenSSL objects, so that nothing leaks if a step fails.
@safe
struct CertificateDraft: ~Copyable {
    private let pointer: OpaquePointer
    private let issuer: X509Certificate?

    /// Starts a certificate. If `issuer` is nil, the certificate is self-issued.
    init(
        subject: String, userID: String?, validity: CertificateValidity, key: KeyHandle,
        issuer: X509Certificate? = nil
    ) throws(CryptoError) {
        guard let pointer = unsafe X509_new() else { fatalError("out of memory") }
        unsafe self.pointer = pointer
        self.issuer = issuer
        guard validity.notBefore < validity.notAfter else {
            throw CryptoError(.invalidRequest, message: "a certificate must end after it begins (notAfter, notBefore)")
        }
        OpenSSLErrors.clear()
        guard unsafe X509_set_version(pointer, Int(X509_VERSION_3)) == 1,
            unsafe X509_set_pubkey(pointer, key.pointer) == 1
        else { throw Self.failure("setting the version and the key") }
        try setSerial()
        try setValidity(validity)
        let name = unsafe X509_get_subject_name(pointer)
        unsafe try Self.add(subject, as: "CN", to: name)
        if let userID {
            unsafe try Self.add(userID, as: "UID", to: name)
        }
        let issuerName = unsafe issuer.map { unsafe X509_get_subject_name($0.pointer) } ?? name
        guard unsafe X509_set_issuer_name(pointer, issuerName) == 1 else { throw Self.failure("setting the issuer") }
    }

    deinit {
        unsafe X509_free(pointer)
    }

    /// Adds an extension in OpenSSL's notation.
    mutating func add(_ nid: CInt, value: String) throws(CryptoError) {
        OpenSSLErrors.clear()
        var context = unsafe X509V3_CTX()
        unsafe X509V3_set_ctx(&context, issuer?.pointer ?? pointer, pointer, nil, nil, 0)
        guard let made = unsafe X509V3_EXT_conf_nid(nil, &context, nid, value) else {
            throw Self.failure("adding the extension \(printable(value))")
        }
        defer { unsafe X509_EXTENSION_free(made) }
        guard unsafe X509_add_ext(pointer, made, -1) == 1 else { throw Self.failure("adding an extension") }
    }

    mutating func add(_ requested: CertificateRequest.Extension) throws(CryptoError) {
        OpenSSLErrors.clear()
        guard let object = unsafe OBJ_txt2obj(requested.oid, 1) else {
            OpenSSLErrors.clear()
            throw CryptoError(.invalidRequest, message: "not an object identifier: \"\(printable(requested.oid))\"")
        }
        defer { unsafe ASN1_OBJECT_free(object) }
        guard let value = unsafe ASN1_OCTET_STRING_new() else { throw Self.failure("adding an extension") }
        defer { unsafe ASN1_OCTET_STRING_free(value) }
        guard unsafe ASN1_OCTET_STRING_set(value, requested.value, CInt(requested.value.count)) == 1,
            let made = unsafe X509_EXTENSION_create_by_OBJ(nil, object, requested.isCritical ? 1 : 0, value)
        else { throw Self.failure("adding the extension \(requested.oid)") }
        defer { unsafe X509_EXTENSION_free(made) }
        guard unsafe X509_add_ext(pointer, made, -1) == 1 else { throw Self.failure("adding an extension") }
    }

    consuming func signed(by key: KeyHandle) throws(CryptoError) -> X509Certificate {
        OpenSSLErrors.clear()
        guard unsafe X509_sign(pointer, key.pointer, EVP_sha256()) > 0 else { throw Self.failure("signing") }
        return unsafe X509Certificate(sharing: pointer)
    }

    /// Sets a serial number of 127 random bits, which is unique, positive and unpredictable.
    private func setSerial() throws(CryptoError) {
        var bytes = SecureRandom.bytes(16)
        bytes[0] = bytes[0] & 0x7F | 0x40
        guard let number = unsafe BN_bin2bn(bytes, CInt(bytes.count), nil) else { throw Self.failure("numbering") }
        defer { unsafe BN_free(number) }
        guard unsafe BN_to_ASN1_INTEGER(number, X509_get_serialNumber(pointer)) != nil else {
            throw Self.failure("numbering")
        }
    }

    private func setValidity(_ validity: CertificateValidity) throws(CryptoError) {
        guard unsafe ASN1_TIME_set(X509_getm_notBefore(pointer), Int(validity.notBefore.seconds)) != nil,
            unsafe ASN1_TIME_set(X509_getm_notAfter(pointer), Int(validity.notAfter.seconds)) != nil
        else { throw Self.failure("setting the validity") }
    }

    private static func add(_ value: String, as attribute: String, to name: OpaquePointer?) throws(CryptoError) {
        let bytes = Array(value.utf8)
        let result = unsafe X509_NAME_add_entry_by_txt(
            name, attribute, MBSTRING_UTF8, bytes, CInt(bytes.count), -1, 0)
        guard result == 1 else {
            OpenSSLErrors.clear()
            throw CryptoError(.invalidRequest, message: "\"\(printable(value))\" cannot be a subject's \(attribute)")
        }
    }

    private static func failure(_ step: String) -> CryptoError {
        CryptoError(.failed, message: "cannot create the certificate: \(step) failed: \(OpenSSLErrors.drain().text)")
    }
}

extension KeyHandle {
    static func newP256() throws(CryptoError) -> KeyHandle {
        OpenSSLErrors.clear()
        guard let key = unsafe COpenSSL_make_p256_key() else {
            throw CryptoError(.failed, message: "cannot generate a P-256 key: \(OpenSSLErrors.drain().text)")
        }
        return unsafe KeyHandle(owning: key)
    }

    var privatePEMText: String {
        var bytes = privatePEM
        defer { wipe(&bytes) }
        return String(decoding: bytes, as: UTF8.self)
    }
}
