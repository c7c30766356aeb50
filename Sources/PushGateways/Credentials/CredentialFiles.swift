package import PushLoop
import PushTransport
import PushWire

/// Where a credential comes from, as the configuration says it.
package enum CredentialFiles: Sendable, Hashable {
    /// A provider key as Apple hands it out (`.p8`).
    case key(path: String, keyID: String, teamID: String)
    /// A certificate with its key, as keychains export it.
    case pkcs12(path: String, passwordFile: String?)
    /// `key` nil: in the same file as the certificate.
    case pem(certificate: String, key: String?, passwordFile: String?)

    /// What the configuration calls a certificate: PKCS#12 if the name ends as those do.
    package static func certificate(_ path: String, key: String?, passwordFile: String?) -> CredentialFiles {
        let isArchive = [".p12", ".pfx"].contains { path.lowercased().hasSuffix($0) }
        return key == nil && isArchive
            ? .pkcs12(path: path, passwordFile: passwordFile)
            : .pem(certificate: path, key: key, passwordFile: passwordFile)
    }
}

package struct LoadedCredential: Sendable {
    package let credential: Credential
    /// What works but is probably not what was meant, each a sentence for the log.
    package let warnings: [String]
}

extension CredentialFiles {
    /// Reads and checks it, the dates of a certificate as well. Blocks: not to be called on a loop. Never prompts.
    package func load(at now: WallTime = .current()) throws(CredentialError) -> LoadedCredential {
        switch self {
        case .key(let path, let keyID, let teamID):
            let key = try Self.providerKey(path, keyID)
            let providerKey = try ProviderKey(teamID: teamID, keyID: keyID, key: key)
            return LoadedCredential(
                credential: .providerKey(providerKey),
                warnings: (Self.nameWarning(path, keyID).map { [$0] } ?? []) + SecretFile.cautions(secrets))
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

    private static func providerKey(_ path: String, _ keyID: String) throws(CredentialError) -> ES256PrivateKey {
        do throws(CryptoError) {
            return try ES256PrivateKey(pem: .file(path))
        } catch {
            guard error.code == .missingPassword else { throw CredentialError(error) }
            throw CredentialError(
                .missingPassword,
                "\(path): the private key is encrypted, which a provider key is not; write it without encryption: "
                    + "openssl pkcs8 -in FILE -topk8 -nocrypt -out AuthKey_\(shown(keyID, limit: 20)).p8")
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

    /// The files with keys or passwords in them.
    private var secrets: [String] {
        switch self {
        case .key(let path, _, _): [path]
        case .pkcs12(let path, let passwordFile): [path] + (passwordFile.map { [$0] } ?? [])
        case .pem(let certificate, let key, let passwordFile):
            [key ?? certificate] + (passwordFile.map { [$0] } ?? [])
        }
    }

    private static func nameWarning(_ path: String, _ keyID: String) -> String? {
        guard let named = ProviderKeyName.keyID(in: path), named != keyID else { return nil }
        return "\(path) is by its name the key \(named), but the key id given with it is \(keyID): Apple will refuse "
            + "its tokens if the name is right"
    }

    /// What a password file holds: one line, whose end does not count.
    package static func password(in path: String?) throws(CredentialError) -> String? {
        guard let path else { return nil }
        let longest = 1024
        var bytes = try read(path, limit: longest)
        defer { wipe(&bytes) }
        if bytes.last == UInt8(ascii: "\n") { bytes.removeLast() }
        if bytes.last == UInt8(ascii: "\r") { bytes.removeLast() }
        // Nothing of what is in it goes into the text.
        guard bytes.count <= longest else {
            throw CredentialError(
                .badPasswordFile, "the password file \(path) holds more than \(longest) bytes; is it the right one?")
        }
        guard !bytes.contains(0), !bytes.contains(UInt8(ascii: "\n")),
            let text = String(validating: bytes, as: UTF8.self)
        else {
            throw CredentialError(
                .badPasswordFile,
                "the password file \(path) holds more than one line of text in UTF-8; write the password alone into it")
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

/// `AuthKey_ABC123DEFG.p8`: what Apple calls the files of keys.
package enum ProviderKeyName {
    /// The key id that a file name says.
    package static func keyID(in path: String) -> String? {
        let name = path.split(separator: "/").last ?? ""
        guard name.hasPrefix("AuthKey_"), name.hasSuffix(".p8") else { return nil }
        let id = String(name.dropFirst(8).dropLast(3))
        return ProviderTokenText.isIdentifier(id) ? id : nil
    }
}
