import Glibc
import PushLoop
import PushTransport

/// A file with a pair of CURVE keys, in the form that libzmq's other bindings read as well (czmq's `zcert`, pyzmq's
/// `zmq.auth.load_certificate`).
enum CurveKeyFile {
    static func text(_ keys: CurveKeyPair) -> Secret<String> {
        Secret(
            """
            #   CURVE key pair, made by carillon keys curve. The secret key is in it: keep it to yourself.

            metadata
            curve
                public-key = "\(keys.publicKey.z85)"
                secret-key = "\(keys.secretKey.z85)"

            """)
    }

    /// Throws what is wrong with the file, in words. Never a part of it.
    static func read(_ path: String) throws(Failure) -> CurveKeyPair {
        guard let pair = try content(of: path).pair else {
            throw Failure(
                .badInput,
                "\(path) holds no CURVE secret key: a line such as secret-key = \"40 characters of Z85\"; "
                    + "'carillon keys curve' makes such a file")
        }
        return pair
    }

    /// The facts that `keys show` prints about a file with CURVE keys.
    struct Facts {
        let publicKey: String
        /// Whether the secret key is in it, or only the public one, as a client hands it out.
        let hasSecretKey: Bool
    }

    /// Nil for a file of another kind. Throws what is wrong with one of this kind.
    static func facts(_ path: String) throws(Failure) -> Facts? {
        guard access(path, R_OK) == 0 else { return nil }
        let content = try content(of: path)
        if let pair = content.pair { return Facts(publicKey: pair.publicKey.z85, hasSecretKey: true) }
        return content.publicKey.map { Facts(publicKey: $0.z85, hasSecretKey: false) }
    }

    /// The keys of a file: a pair, a public key alone, or neither.
    private struct Content {
        var pair: CurveKeyPair?
        var publicKey: CurvePublicKey?
    }

    private static func content(of path: String) throws(Failure) -> Content {
        var bytes: [UInt8]
        do {
            bytes = try BoundedFile.read(path, limit: 64 * 1024)
        } catch {
            throw Failure(.badInput, "cannot read the CURVE keys in \(path): \(error)")
        }
        defer { wipe(&bytes) }
        var content = Content()
        do {
            content.publicKey = try value(of: "public-key", in: bytes).map { (text) throws(ZMQError) in
                try CurvePublicKey(z85: String(decoding: text, as: UTF8.self))
            }
            if var secret = value(of: "secret-key", in: bytes) {
                defer { wipe(&secret) }
                content.pair = try CurveKeyPair(secretKey: try CurveSecretKey(z85: secret))
            }
        } catch {
            throw Failure(.badInput, "\(path): \(error)")
        }
        if let said = content.publicKey, let pair = content.pair, said != pair.publicKey {
            throw Failure(
                .badInput, "\(path): its public key is not that of its secret key; make a new pair, or leave it out")
        }
        return content
    }

    /// What stands behind the equals sign of the first line with that key. The characters are the caller's to wipe.
    private static func value(of key: StaticString, in bytes: [UInt8]) -> [UInt8]? {
        for line in bytes.split(whereSeparator: { $0 == UInt8(ascii: "\n") || $0 == UInt8(ascii: "\r") }) {
            guard let equals = line.firstIndex(of: UInt8(ascii: "=")),
                line[..<equals].filter({ !isBlank($0) }).elementsEqual(key.description.utf8)
            else { continue }
            var text = line[(equals + 1)...].drop(while: isBlank)
            while let last = text.last, isBlank(last) { text.removeLast() }
            let quote = UInt8(ascii: "\"")
            if text.count >= 2, text.first == quote, text.last == quote { text = text.dropFirst().dropLast() }
            return Array(text)
        }
        return nil
    }

    private static func isBlank(_ byte: UInt8) -> Bool { byte == UInt8(ascii: " ") || byte == UInt8(ascii: "\t") }
}
