import COpenSSL
private import Glibc

/// An owner of one reference to a certificate. OpenSSL counts references atomically, and the certificate is never
/// changed after it was read.
@safe
struct Certificate: ~Copyable, @unchecked Sendable {
    let pointer: OpaquePointer

    /// Reads a certificate in DER. Bytes after its end are an error.
    init(der: [UInt8], position: CertificateFault.Position) throws(CertificateFault) {
        ERR_clear_error()
        defer { ERR_clear_error() }
        let pointer = unsafe der.withUnsafeBufferPointer { bytes in
            var next = bytes.baseAddress
            guard let start = unsafe next, let found = unsafe d2i_X509(nil, &next, bytes.count) else {
                return unsafe nil as OpaquePointer?
            }
            if unsafe next == start + bytes.count { return unsafe found }
            unsafe X509_free(found)
            return unsafe nil as OpaquePointer?
        }
        guard let pointer = unsafe pointer else {
            throw .malformed(position, cause: "it is not a certificate in DER")
        }
        unsafe self.pointer = pointer
    }

    /// Takes over the caller's reference.
    init(owning pointer: OpaquePointer) {
        unsafe self.pointer = pointer
    }

    deinit {
        unsafe X509_free(pointer)
    }

    /// The first and the last millisecond since 1970 at which the certificate is valid; nil if its dates are malformed.
    var validity: (from: Int64, until: Int64)? {
        guard let from = unsafe Self.seconds(X509_get0_notBefore(pointer)),
            let until = unsafe Self.seconds(X509_get0_notAfter(pointer))
        else { return nil }
        // The last second is part of the validity.
        return (from * 1000, until * 1000 + 999)
    }

    /// Whether the certificate belongs to an authority: it has basic constraints that say so.
    var isAuthority: Bool { unsafe X509_check_ca(pointer) == 1 }

    /// Returns whether the certificate has an extension, which is named by its object identifier in dotted form.
    func hasExtension(_ oid: String) -> Bool {
        ERR_clear_error()
        defer { ERR_clear_error() }
        guard let object = unsafe OBJ_txt2obj(oid, 1) else { return false }
        defer { unsafe ASN1_OBJECT_free(object) }
        return unsafe X509_get_ext_by_OBJ(pointer, object, -1) >= 0
    }

    /// The subject as text in the order of RFC 4514, for messages.
    var subject: String {
        guard let bio = unsafe BIO_new(BIO_s_mem()) else { return "" }
        defer { unsafe BIO_free(bio) }
        unsafe X509_NAME_print_ex(bio, X509_get_subject_name(pointer), 0, COpenSSL_name_flags())
        var data: UnsafeMutablePointer<CChar>?
        let count = unsafe COpenSSL_memory(bio, &data)
        guard count > 0, let data = unsafe data else { return "" }
        let bytes = unsafe UnsafeRawBufferPointer(start: data, count: min(count, 400))
        return unsafe String(decoding: bytes.map { $0 < 0x20 || $0 == 0x7f ? UInt8(ascii: "?") : $0 }, as: UTF8.self)
    }

    /// The SHA-256 digest of the DER encoding.
    var fingerprint: [UInt8] {
        var digest = [UInt8](repeating: 0, count: 32)
        unsafe _ = X509_digest(pointer, EVP_sha256(), &digest, nil)
        return digest
    }

    /// The addresses of the OCSP responders, at most four.
    var responders: [String] {
        ERR_clear_error()
        defer { ERR_clear_error() }
        guard let texts = unsafe X509_get1_ocsp(pointer) else { return [] }
        defer { unsafe X509_email_free(texts) }
        return unsafe (0..<min(4, max(0, OPENSSL_sk_num(texts)))).compactMap { index in
            unsafe OPENSSL_sk_value(texts, index).map { text in
                unsafe String(cString: text.assumingMemoryBound(to: CChar.self))
            }
        }
    }

    /// Whether the key of the certificate is on the curve P-256.
    var hasP256Key: Bool {
        guard let key = unsafe X509_get0_pubkey(pointer), unsafe EVP_PKEY_is_a(key, "EC") == 1 else { return false }
        var name = [CChar](repeating: 0, count: 64)
        var length = 0
        guard unsafe EVP_PKEY_get_group_name(key, &name, name.count, &length) == 1 else { return false }
        return name.prefix(length).elementsEqual("prime256v1".utf8.map { CChar(bitPattern: $0) })
    }

    static func seconds(_ time: UnsafePointer<ASN1_TIME>?) -> Int64? {
        var parts = unsafe tm()
        // OpenSSL takes a missing time as the current one.
        guard unsafe time != nil, unsafe ASN1_TIME_to_tm(time, &parts) == 1 else { return nil }
        return unsafe Int64(timegm(&parts))
    }
}
