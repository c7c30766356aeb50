private import COpenSSL

/// A verified chain: a leaf that signs App Store data, its intermediate, and a trusted root.
@safe
package final class SigningChain: Sendable {
    /// The extension of certificates that sign receipts and App Store data.
    package static let leafPurpose = "1.2.840.113635.100.6.11.1"
    /// The extension of Apple's intermediate authorities for developers.
    package static let intermediatePurpose = "1.2.840.113635.100.6.2.1"

    let leaf: Certificate
    let intermediate: Certificate
    let root: Certificate
    /// The first millisecond since 1970 at which all three certificates are valid.
    package let validFrom: Int64
    /// The last millisecond since 1970 at which all three certificates are valid.
    package let validUntil: Int64

    init(
        leaf: consuming Certificate, intermediate: consuming Certificate, root: consuming Certificate, validFrom: Int64,
        validUntil: Int64
    ) {
        self.leaf = leaf
        self.intermediate = intermediate
        self.root = root
        self.validFrom = validFrom
        self.validUntil = validUntil
    }

    /// The SHA-256 digests of leaf and intermediate, one after the other. Equal chains have equal ids.
    package var id: [UInt8] { leaf.fingerprint + intermediate.fingerprint }

    /// The subject of the leaf, for messages.
    package var subject: String { leaf.subject }

    /// Returns whether a signature is that of the leaf's key for a message: ES256 as in JWS, two numbers of 32 bytes.
    package func verifies(_ signature: [UInt8], of message: ArraySlice<UInt8>) -> Bool {
        guard signature.count == 64, let key = unsafe X509_get0_pubkey(leaf.pointer),
            let context = unsafe EVP_MD_CTX_new()
        else { return false }
        ERR_clear_error()
        defer {
            unsafe EVP_MD_CTX_free(context)
            ERR_clear_error()
        }
        guard unsafe EVP_DigestVerifyInit(context, nil, EVP_sha256(), nil, key) == 1 else { return false }
        let encoded = Self.der(signature)
        return unsafe message.withUnsafeBufferPointer { message in
            unsafe EVP_DigestVerify(context, encoded, encoded.count, message.baseAddress, message.count) == 1
        }
    }

    /// Encodes the two numbers as the sequence of integers that OpenSSL reads.
    private static func der(_ signature: [UInt8]) -> [UInt8] {
        var bytes: [UInt8] = [0x30, 0]
        bytes.reserveCapacity(72)
        for start in [0, 32] {
            let digits = signature[start..<start + 32].drop { $0 == 0 }
            // A leading zero byte keeps the number positive, and is the number zero.
            let padding = (digits.first ?? 0x80) & 0x80 == 0 ? 0 : 1
            bytes += [0x02, UInt8(digits.count + padding)] + [UInt8](repeating: 0, count: padding) + digits
        }
        bytes[1] = UInt8(bytes.count - 2)
        return bytes
    }
}
