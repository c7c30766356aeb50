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
        var bytes: [UInt8]
        do {
            bytes = try BoundedFile.read(path, limit: 64 * 1024)
        } catch {
            throw Failure(.badInput, "cannot read the CURVE keys in \(path): \(error)")
        }
        let text = String(decoding: bytes, as: UTF8.self)
        wipe(&bytes)
        guard let secret = value(of: "secret-key", in: text) else {
            throw Failure(
                .badInput,
                "\(path) holds no CURVE secret key: a line such as secret-key = \"40 characters of Z85\"; "
                    + "'carillon keys curve' makes such a file")
        }
        do {
            let keys = try CurveKeyPair(secretKey: try CurveSecretKey(z85: secret))
            guard let said = value(of: "public-key", in: text), said != keys.publicKey.z85 else { return keys }
        } catch {
            throw Failure(.badInput, "\(path): \(error)")
        }
        throw Failure(
            .badInput, "\(path): its public key is not that of its secret key; make a new pair, or leave it out")
    }

    /// The facts that `keys show` prints about a file with CURVE keys.
    struct Facts {
        let publicKey: String
        /// Whether the secret key is in it, or only the public one, as a client hands it out.
        let hasSecretKey: Bool
    }

    /// Nil for a file of another kind. Throws what is wrong with one of this kind.
    static func facts(_ path: String) throws(Failure) -> Facts? {
        guard let bytes = try? BoundedFile.read(path, limit: 64 * 1024) else { return nil }
        let text = String(decoding: bytes, as: UTF8.self)
        if value(of: "secret-key", in: text) != nil {
            return Facts(publicKey: try read(path).publicKey.z85, hasSecretKey: true)
        }
        guard let key = value(of: "public-key", in: text) else { return nil }
        do {
            return Facts(publicKey: try CurvePublicKey(z85: key).z85, hasSecretKey: false)
        } catch {
            throw Failure(.badInput, "\(path): \(error)")
        }
    }

    private static func value(of key: String, in text: String) -> String? {
        for line in text.split(whereSeparator: \.isNewline) {
            let parts = line.split(separator: "=", maxSplits: 1)
            guard parts.count == 2, parts[0].filter({ !$0.isWhitespace }) == key else { continue }
            return parts[1].drop { $0.isWhitespace }.trimmingSuffix { $0.isWhitespace }.unquoted
        }
        return nil
    }
}

extension Substring {
    fileprivate func trimmingSuffix(while isOff: (Character) -> Bool) -> Substring {
        var text = self
        while let last = text.last, isOff(last) { text.removeLast() }
        return text
    }

    fileprivate var unquoted: String {
        count >= 2 && first == "\"" && last == "\"" ? String(dropFirst().dropLast()) : String(self)
    }
}
