private import COpenSSL
import Glibc
package import PushLoop

/// The content of a certificate.
package struct CertificateInfo: Sendable {
    /// The subject as text in the order of RFC 4514: `CN=…,O=…`.
    package let subject: String
    package let issuer: String
    package let commonName: String?
    /// The UID attribute (0.9.2342.19200300.100.1.1), in which a push certificate has the id of its app.
    package let userID: String?
    package let issuerCommonName: String?
    package let notBefore: WallTime
    package let notAfter: WallTime
    /// The serial number in lowercase hexadecimal.
    package let serial: String
    /// The SHA-256 digest of the DER encoding.
    package let fingerprint: Digest256
    package let dnsNames: [String]
    package let ipAddresses: [String]
    let certificate: X509Certificate

    /// Reads the first certificate of a PEM source.
    package init(pem source: PEMSource) throws(CryptoError) {
        let certificates = try source.certificates()
        self.init(certificates[0])
    }

    package init(der: [UInt8]) throws(CryptoError) {
        OpenSSLErrors.clear()
        let pointer = unsafe der.withUnsafeBufferPointer { bytes in
            var position = bytes.baseAddress
            let pointer = unsafe d2i_X509(nil, &position, bytes.count)
            // Reject bytes after the end of the certificate.
            guard let pointer = unsafe pointer, unsafe position != bytes.baseAddress! + bytes.count else {
                return unsafe pointer
            }
            unsafe X509_free(pointer)
            return unsafe nil as OpaquePointer?
        }
        guard let pointer = unsafe pointer else {
            throw CryptoError(
                .malformedCertificate, message: "not a certificate in DER: \(OpenSSLErrors.drain().text)")
        }
        unsafe self.init(X509Certificate(owning: pointer))
    }

    init(_ certificate: X509Certificate) {
        let pointer = unsafe certificate.pointer
        self.certificate = certificate
        let subjectName = unsafe X509_get_subject_name(pointer)
        let issuerName = unsafe X509_get_issuer_name(pointer)
        unsafe subject = Self.text(of: subjectName)
        unsafe issuer = Self.text(of: issuerName)
        unsafe commonName = Self.attribute(NID_commonName, of: subjectName)
        unsafe userID = Self.attribute(NID_userId, of: subjectName)
        unsafe issuerCommonName = Self.attribute(NID_commonName, of: issuerName)
        unsafe notBefore = Self.time(X509_get0_notBefore(pointer))
        unsafe notAfter = Self.time(X509_get0_notAfter(pointer))
        unsafe serial = Self.serial(X509_get0_serialNumber(pointer))
        var digest = Digest256()
        unsafe digest.withMutableBytes { unsafe _ = X509_digest(pointer, EVP_sha256(), $0.baseAddress, nil) }
        fingerprint = digest
        (dnsNames, ipAddresses) = unsafe Self.alternativeNames(of: pointer)
        // An unusual certificate may have left errors in the queue.
        OpenSSLErrors.clear()
    }

    package var der: [UInt8] {
        let length = unsafe i2d_X509(certificate.pointer, nil)
        guard length > 0 else { return [] }
        var bytes = [UInt8](repeating: 0, count: Int(length))
        unsafe bytes.withUnsafeMutableBufferPointer { bytes in
            var position = bytes.baseAddress
            unsafe _ = i2d_X509(certificate.pointer, &position)
        }
        return bytes
    }

    package var pem: String {
        String(decoding: certificate.pem, as: UTF8.self)
    }

    /// Returns the DER value of an extension by its object identifier in dotted form, or nil if the certificate does
    /// not have it.
    package func extensionValue(oid: String) -> [UInt8]? {
        OpenSSLErrors.clear()
        defer { OpenSSLErrors.clear() }
        guard let object = unsafe OBJ_txt2obj(oid, 1) else { return nil }
        defer { unsafe ASN1_OBJECT_free(object) }
        let index = unsafe X509_get_ext_by_OBJ(certificate.pointer, object, -1)
        guard index >= 0, let found = unsafe X509_get_ext(certificate.pointer, index),
            let value = unsafe X509_EXTENSION_get_data(found)
        else { return nil }
        return unsafe Self.bytes(of: value)
    }

    // MARK: Conversion from OpenSSL's types

    private static func text(of name: OpaquePointer?) -> String {
        let bio = MemoryBIO()
        unsafe X509_NAME_print_ex(bio.pointer, name, 0, COpenSSL_name_flags())
        return printable(String(decoding: bio.bytes, as: UTF8.self), limit: 400)
    }

    private static func attribute(_ nid: CInt, of name: OpaquePointer?) -> String? {
        let index = unsafe X509_NAME_get_index_by_NID(name, nid, -1)
        guard index >= 0, let entry = unsafe X509_NAME_get_entry(name, index),
            let value = unsafe X509_NAME_ENTRY_get_data(entry)
        else { return nil }
        var utf8: UnsafeMutablePointer<UInt8>?
        let count = unsafe ASN1_STRING_to_UTF8(&utf8, value)
        guard count >= 0, let start = unsafe utf8 else { return nil }
        defer { unsafe CRYPTO_free(start, "", 0) }
        return unsafe String(decoding: UnsafeBufferPointer(start: start, count: Int(count)), as: UTF8.self)
    }

    private static func time(_ time: UnsafePointer<ASN1_TIME>?) -> WallTime {
        var parts = unsafe tm()
        guard unsafe ASN1_TIME_to_tm(time, &parts) == 1 else { return WallTime(milliseconds: 0) }
        return unsafe WallTime(milliseconds: Int64(timegm(&parts)) * 1000)
    }

    private static func serial(_ serial: UnsafePointer<ASN1_INTEGER>?) -> String {
        guard let number = unsafe ASN1_INTEGER_to_BN(serial, nil) else { return "" }
        defer { unsafe BN_free(number) }
        guard let text = unsafe BN_bn2hex(number) else { return "" }
        defer { unsafe CRYPTO_free(text, "", 0) }
        return unsafe String(cString: text).lowercased()
    }

    private static func alternativeNames(of certificate: OpaquePointer) -> (dns: [String], ip: [String]) {
        var dns: [String] = []
        var ip: [String] = []
        guard let names = unsafe X509_get_ext_d2i(certificate, NID_subject_alt_name, nil, nil) else { return (dns, ip) }
        let stack = OpaquePointer(names)
        defer { unsafe GENERAL_NAMES_free(stack) }
        for index in 0..<max(0, unsafe OPENSSL_sk_num(stack)) {
            guard let name = unsafe OPENSSL_sk_value(stack, index)?.assumingMemoryBound(to: GENERAL_NAME.self)
            else { continue }
            var kind: CInt = -1
            guard let value = unsafe GENERAL_NAME_get0_value(name, &kind) else { continue }
            guard kind == GEN_DNS || kind == GEN_IPADD else { continue }
            let bytes = unsafe Self.bytes(of: value.assumingMemoryBound(to: ASN1_STRING.self))
            if kind == GEN_DNS {
                dns.append(String(decoding: bytes, as: UTF8.self))
            } else if let text = Self.address(bytes) {
                ip.append(text)
            }
        }
        return (dns, ip)
    }

    private static func address(_ bytes: [UInt8]) -> String? {
        guard bytes.count == 4 || bytes.count == 16 else { return nil }
        var text = [CChar](repeating: 0, count: Int(INET6_ADDRSTRLEN))
        let family = bytes.count == 4 ? AF_INET : AF_INET6
        guard unsafe inet_ntop(family, bytes, &text, socklen_t(text.count)) != nil else { return nil }
        return String(decoding: text.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)
    }

    private static func bytes(of value: UnsafePointer<ASN1_STRING>) -> [UInt8] {
        let count = unsafe Int(ASN1_STRING_length(value))
        guard count > 0, let start = unsafe ASN1_STRING_get0_data(value) else { return [] }
        return unsafe Array(UnsafeBufferPointer(start: start, count: count))
    }
}

extension PEMSource {
    /// Returns all certificates of the source in DER. There is at least one.
    package func certificatesInDER() throws(CryptoError) -> [[UInt8]] {
        try certificates().map { CertificateInfo($0).der }
    }
}

extension WallTime {
    /// The time as `2026-03-01T12:00:00Z`, for error messages.
    package var utcText: String {
        var parts = unsafe tm()
        var time = time_t(seconds)
        unsafe gmtime_r(&time, &parts)
        func padded(_ number: CInt) -> String { number < 10 ? "0\(number)" : "\(number)" }
        let date = unsafe "\(1900 + Int(parts.tm_year))-\(padded(parts.tm_mon + 1))-\(padded(parts.tm_mday))"
        return unsafe "\(date)T\(padded(parts.tm_hour)):\(padded(parts.tm_min)):\(padded(parts.tm_sec))Z"
    }
}
