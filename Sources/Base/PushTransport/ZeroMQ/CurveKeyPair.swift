private import CZeroMQ

/// The public half of a CURVE key: 32 bytes, or 40 characters of Z85 as text.
package struct CurvePublicKey: Hashable, Sendable, CustomStringConvertible {
    fileprivate let bytes: SIMD32<UInt8>

    /// - Throws: `ZMQError.invalidKey` unless `text` is 40 characters of Z85.
    package init(z85 text: String) throws(ZMQError) {
        bytes = try Z85.decode(Array(text.utf8), of: "public key")
    }

    /// Creates a key from 32 bytes. Returns nil for any other count.
    package init?(bytes: UnsafeRawBufferPointer) {
        guard bytes.count == 32 else { return nil }
        unsafe self.bytes = bytes.loadUnaligned(as: SIMD32<UInt8>.self)
    }

    package var z85: String { Z85.encode(bytes) }
    package var description: String { z85 }

    func withBytes<Result>(_ body: (UnsafeRawBufferPointer) -> Result) -> Result {
        unsafe withUnsafeBytes(of: bytes) { unsafe body($0) }
    }
}

/// The secret half of a CURVE key. Descriptions, mirrors and dumps do not show it; only ``z85`` returns its text.
package struct CurveSecretKey: Sendable, CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
    fileprivate let bytes: SIMD32<UInt8>

    /// - Throws: `ZMQError.invalidKey` unless `text` is 40 characters of Z85. The message does not repeat the text.
    package init(z85 text: String) throws(ZMQError) {
        bytes = try Z85.decode(Array(text.utf8), of: "secret key")
    }

    /// Creates a key from characters that the caller must wipe.
    ///
    /// - Throws: `ZMQError.invalidKey`.
    package init(z85 characters: [UInt8]) throws(ZMQError) {
        bytes = try Z85.decode(characters, of: "secret key")
    }

    /// The text of the key, only for writing a new key to its file.
    package var z85: String { Z85.encode(bytes) }

    package var publicKey: CurvePublicKey {
        get throws(ZMQError) {
            var text = [CChar](repeating: 0, count: Z85.bufferSize)
            guard unsafe zmq_curve_public(&text, z85) == 0 else {
                throw .last("derive a CURVE public key (is this libzmq built with CURVE?)")
            }
            return try CurvePublicKey(z85: Z85.text(text))
        }
    }

    package var description: String { "(secret key)" }
    package var debugDescription: String { description }
    package var customMirror: Mirror { Mirror(self, children: []) }

    func withBytes<Result>(_ body: (UnsafeRawBufferPointer) -> Result) -> Result {
        unsafe withUnsafeBytes(of: bytes) { unsafe body($0) }
    }
}

package struct CurveKeyPair: Sendable, CustomStringConvertible {
    package let publicKey: CurvePublicKey
    package let secretKey: CurveSecretKey

    /// Creates the pair that belongs to a secret key.
    package init(secretKey: CurveSecretKey) throws(ZMQError) {
        self.secretKey = secretKey
        publicKey = try secretKey.publicKey
    }

    private init(publicKey: CurvePublicKey, secretKey: CurveSecretKey) {
        self.publicKey = publicKey
        self.secretKey = secretKey
    }

    /// Generates a new pair from the system's random source.
    package static func generate() throws(ZMQError) -> CurveKeyPair {
        var publicText = [CChar](repeating: 0, count: Z85.bufferSize)
        var secretText = [CChar](repeating: 0, count: Z85.bufferSize)
        guard unsafe zmq_curve_keypair(&publicText, &secretText) == 0 else {
            throw .last("generate CURVE keys (is this libzmq built with CURVE?)")
        }
        return CurveKeyPair(
            publicKey: try CurvePublicKey(z85: Z85.text(publicText)),
            secretKey: try CurveSecretKey(z85: Z85.text(secretText)))
    }

    package var description: String { "CURVE key \(publicKey)" }
}

/// The text encoding of keys (ZeroMQ RFC 32): five characters for four bytes.
private enum Z85 {
    /// The size of 40 characters and a NUL.
    static let bufferSize = 41

    static func text(_ characters: [CChar]) -> String {
        String(decoding: characters.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)
    }

    static func encode(_ bytes: SIMD32<UInt8>) -> String {
        var characters = [CChar](repeating: 0, count: bufferSize)
        unsafe withUnsafeBytes(of: bytes) { raw in
            unsafe _ = zmq_z85_encode(&characters, raw.bindMemory(to: UInt8.self).baseAddress, 32)
        }
        return text(characters)
    }

    static func decode(_ characters: [UInt8], of what: String) throws(ZMQError) -> SIMD32<UInt8> {
        // A NUL inside would end the C string early, so the length is checked here.
        guard characters.count == 40, !characters.contains(0) else {
            throw ZMQError(
                .invalidKey, message: "not a CURVE \(what): it has \(characters.count) bytes, a key has 40 (Z85)")
        }
        var text = characters + [0]
        var bytes = [UInt8](repeating: 0, count: 32)
        defer {
            wipe(&text)
            wipe(&bytes)
        }
        let isKey = unsafe text.withUnsafeBytes {
            unsafe zmq_z85_decode(&bytes, $0.bindMemory(to: CChar.self).baseAddress) != nil
        }
        guard isKey else {
            throw ZMQError(
                .invalidKey, message: "not a CURVE \(what): it contains a character that is not valid in Z85")
        }
        return unsafe bytes.withUnsafeBytes { unsafe $0.loadUnaligned(as: SIMD32<UInt8>.self) }
    }
}
