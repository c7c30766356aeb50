private import COpenSSL

/// An owner of one reference to a certificate. OpenSSL counts references atomically, and the certificate is never
/// changed.
@safe
final class X509Certificate: @unchecked Sendable {
    let pointer: OpaquePointer

    /// Takes over the caller's reference.
    init(owning pointer: OpaquePointer) {
        unsafe self.pointer = pointer
    }

    /// Adds a reference.
    init(sharing pointer: OpaquePointer) {
        unsafe X509_up_ref(pointer)
        unsafe self.pointer = pointer
    }

    deinit {
        unsafe X509_free(pointer)
    }

    convenience init(_ block: PEMBlock, name: String) throws(CryptoError) {
        let bio = MemoryBIO(block.text)
        OpenSSLErrors.clear()
        guard let pointer = unsafe PEM_read_bio_X509_AUX(bio.pointer, nil, { _, _, _, _ in -1 }, nil) else {
            let cause = OpenSSLErrors.drain().text
            throw CryptoError(.malformedCertificate, message: "\(name): a certificate in it cannot be read: \(cause)")
        }
        unsafe self.init(owning: pointer)
    }

    var pem: [UInt8] {
        let bio = MemoryBIO()
        unsafe PEM_write_bio_X509(bio.pointer, pointer)
        return bio.bytes
    }
}

extension PEMSource {
    /// Returns all certificates of the source in order. There is at least one.
    func certificates() throws(CryptoError) -> [X509Certificate] {
        let blocks = try blocks()
        var certificates: [X509Certificate] = []
        for block in blocks where block.isCertificate {
            certificates.append(try X509Certificate(block, name: name))
        }
        guard !certificates.isEmpty else {
            throw CryptoError(
                .noCertificate, message: "\(name) contains no certificate, only \(Self.listing(blocks))")
        }
        return certificates
    }

    static func listing(_ blocks: [PEMBlock]) -> String {
        blocks.prefix(4).map { printable($0.label, limit: 40) }.joined(separator: ", ")
    }
}
