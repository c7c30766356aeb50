package import PushLoop
import PushTransport
import PushWire

/// The files of a credential, as given in the configuration.
package enum CredentialFiles: Sendable, Hashable {
    /// A provider key as Apple issues it (`.p8`).
    case key(path: String, keyID: String, teamID: String)
    /// A certificate with its private key, as keychains export it.
    case pkcs12(path: String, passwordFile: String?)
    /// A certificate with its private key; if `key` is nil, both are in one file.
    case pem(certificate: String, key: String?, passwordFile: String?)

    /// Returns the files of a certificate in the configuration: PKCS#12 if the name ends in `.p12` or `.pfx` and there
    /// is no key file, otherwise PEM.
    package static func certificate(_ path: String, key: String?, passwordFile: String?) -> CredentialFiles {
        let isArchive = [".p12", ".pfx"].contains { path.lowercased().hasSuffix($0) }
        return key == nil && isArchive
            ? .pkcs12(path: path, passwordFile: passwordFile)
            : .pem(certificate: path, key: key, passwordFile: passwordFile)
    }
}

package struct LoadedCredential: Sendable {
    package let credential: Credential
    /// Sentences for the log about settings that work but are probably mistakes.
    package let warnings: [String]
}

extension CredentialFiles {
    /// Reads and checks the credential, including the dates of a certificate. It blocks, so it must not be called on a
    /// loop. It never prompts for a password.
    package func load(at now: WallTime = .current()) throws(CredentialError) -> LoadedCredential {
        switch self {
        case .key(let path, let keyID, let teamID):
            let key = try Self.providerKey(in: path, keyID: keyID)
            let providerKey = try ProviderKey(teamID: teamID, keyID: keyID, key: key)
            return LoadedCredential(
                credential: .providerKey(providerKey),
                warnings: (Self.nameWarning(for: path, keyID: keyID).map { [$0] } ?? []) + SecretFile.cautions(secrets))
        case .pkcs12(let path, let passwordFile):
            let password = try Self.password(in: passwordFile)
            return try checked(Self.identity { try TLSIdentity(PKCS12(file: path, password: password)) }, at: now)
        case .pem(let certificate, let key, let passwordFile):
            let password = try Self.password(in: passwordFile)
            return try checked(
                Self.identity {
                    try TLSIdentity(
                        certificates: .file(certificate), key: .file(key ?? certificate), password: password)
                }, at: now)
        }
    }

    private static func providerKey(in path: String, keyID: String) throws(CredentialError) -> ES256PrivateKey {
        do throws(CryptoError) {
            return try ES256PrivateKey(pem: .file(path))
        } catch {
            guard error.code == .missingPassword else { throw CredentialError(error) }
            throw CredentialError(
                .missingPassword,
                message: "\(path): the private key is encrypted, but a provider key must not be; write it without "
                    + "encryption: openssl pkcs8 -in FILE -topk8 -nocrypt -out AuthKey_\(shown(keyID, limit: 20)).p8")
        }
    }

    private static func identity(_ read: () throws -> TLSIdentity) throws(CredentialError) -> TLSIdentity {
        do {
            return try read()
        } catch {
            throw CredentialError(reading: error)
        }
    }

    private func checked(_ identity: TLSIdentity, at now: WallTime) throws(CredentialError) -> LoadedCredential {
        let certificate = CertificateCredential(identity)
        try certificate.checkDates(at: now)
        return LoadedCredential(credential: .certificate(certificate), warnings: SecretFile.cautions(secrets))
    }

    /// The credential in a few words.
    ///
    /// - Parameter fingerprint: The digest of the certificate; nil if the files cannot be read.
    package func label(fingerprint: String?) -> String {
        switch self {
        case .key(_, let keyID, let teamID): "key \(keyID), team \(teamID)"
        case .pkcs12(let path, _), .pem(let path, _, _):
            "certificate \(fingerprint.map { "\($0.prefix(16))…" } ?? shown(path, limit: 40))"
        }
    }

    /// All files of the credential; nil for one that it does not need.
    package var paths: [String?] {
        switch self {
        case .key(let path, _, _): [path]
        case .pkcs12(let path, let passwordFile): [path, passwordFile]
        case .pem(let certificate, let key, let passwordFile): [certificate, key, passwordFile]
        }
    }

    /// The files that contain keys or passwords.
    private var secrets: [String] {
        switch self {
        case .key(let path, _, _): [path]
        case .pkcs12(let path, let passwordFile): [path] + (passwordFile.map { [$0] } ?? [])
        case .pem(let certificate, let key, let passwordFile):
            [key ?? certificate] + (passwordFile.map { [$0] } ?? [])
        }
    }

    private static func nameWarning(for path: String, keyID: String) -> String? {
        guard let named = ProviderKeyName.keyID(in: path), named != keyID else { return nil }
        return "\(path) has the file name of key \(named), but the configured key id is \(keyID); if the file name "
            + "is right, Apple will reject the tokens"
    }

    /// Returns the password in a file: one line without its line break.
    package static func password(in path: String?) throws(CredentialError) -> String? {
        guard let path else { return nil }
        let maxLength = 1024
        var bytes = try read(path, limit: maxLength)
        defer { wipe(&bytes) }
        if bytes.last == UInt8(ascii: "\n") { bytes.removeLast() }
        if bytes.last == UInt8(ascii: "\r") { bytes.removeLast() }
        // The content of the file must not appear in an error message.
        guard bytes.count <= maxLength else {
            throw CredentialError(
                .badPasswordFile,
                message: "the password file \(path) has more than \(maxLength) bytes; check that it is the right file")
        }
        guard !bytes.contains(0), !bytes.contains(UInt8(ascii: "\n")),
            let text = String(validating: bytes, as: UTF8.self)
        else {
            throw CredentialError(
                .badPasswordFile,
                message: "the password file \(path) must contain one line of UTF-8 text; write only the password into "
                    + "it")
        }
        return text
    }

    private static func read(_ path: String, limit: Int) throws(CredentialError) -> [UInt8] {
        do throws(CryptoError) {
            return try BoundedFile.read(path, limit: limit)
        } catch {
            throw CredentialError(error)
        }
    }
}

/// The file names that Apple gives to provider keys: `AuthKey_ABC123DEFG.p8`.
package enum ProviderKeyName {
    /// Returns the key id in a file name; nil if the name does not have this form.
    package static func keyID(in path: String) -> String? {
        let name = path.split(separator: "/").last ?? ""
        guard name.hasPrefix("AuthKey_"), name.hasSuffix(".p8") else { return nil }
        let id = String(name.dropFirst(8).dropLast(3))
        return ProviderTokenText.isIdentifier(id) ? id : nil
    }
}
