import Glibc
package import PushLoop
package import PushTransport

/// Files with a pair of CURVE keys, in the format that czmq (`zcert`) and pyzmq (`zmq.auth.load_certificate`) also
/// read.
package enum CurveKeyFile {
    package static func text(_ keys: CurveKeyPair) -> Secret<String> {
        Secret(
            """
            #   CURVE key pair, made by carillon keys curve. It contains the secret key: keep this file private.

            metadata
            curve
                public-key = "\(keys.publicKey.z85)"
                secret-key = "\(keys.secretKey.z85)"

            """)
    }

    /// Returns the key pair in the file.
    ///
    /// - Throws: an error that describes the problem and contains no part of the file.
    package static func read(_ path: String) throws(StartError) -> CurveKeyPair {
        guard let pair = try content(of: path).pair else {
            throw StartError(
                .badInput,
                "\(path) does not contain a CURVE secret key: a line such as secret-key = \"40 characters of Z85\"; "
                    + "'carillon keys curve' makes such a file")
        }
        return pair
    }

    /// Returns the key pair in the file, which is made if it does not exist. Blocks.
    package static func readOrCreate(_ path: String) throws(StartError) -> CurveKeyPair {
        if access(path, F_OK) == 0 { return try read(path) }
        do {
            var bytes = text(try .generate()).withRevealed { Array($0.utf8) }
            defer { wipe(&bytes) }
            _ = try NewSecretFile.create(path, bytes)
        } catch {
            throw StartError(.notPermitted, "\(error)")
        }
        // Another process may have made it at the same time.
        return try read(path)
    }

    /// The facts that `keys show` prints about a file with CURVE keys.
    package struct Facts {
        package let publicKey: String
        /// Whether the file contains the secret key. A file that a client hands out contains only the public key.
        package let hasSecretKey: Bool
    }

    /// Returns the facts about a file with CURVE keys, or nil if the file has no CURVE keys or cannot be opened.
    ///
    /// - Throws: an error if the file cannot be read, or if its keys are malformed.
    package static func facts(_ path: String) throws(StartError) -> Facts? {
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

    private static func content(of path: String) throws(StartError) -> Content {
        var bytes: [UInt8]
        do {
            bytes = try BoundedFile.read(path, limit: 64 * 1024)
        } catch {
            throw StartError(.badInput, "cannot read the CURVE keys in \(path): \(error)")
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
            throw StartError(.badInput, "\(path): \(error)")
        }
        if let written = content.publicKey, let pair = content.pair, written != pair.publicKey {
            throw StartError(
                .badInput,
                "\(path): its public key does not match its secret key; make a new pair, or remove the public key")
        }
        return content
    }

    /// Returns the text after the equals sign of the first line with this key. The caller has to wipe it.
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
