package import PushTransport
import PushWire

/// A service account of Google Cloud: who may send for a project, with the key that proves it. The private key is never
/// printed.
///
/// Two accounts are equal if all that a token depends on is equal. So a reload of the same file gives an equal account,
/// which keeps its token.
package struct ServiceAccount: Hashable, Sendable, CustomStringConvertible {
    package let project: ProjectID
    /// The name of the account, `client_email` in its file.
    package let email: String
    /// The id of the key; nil if the file does not have it.
    package let keyID: String?
    /// Where tokens are asked for.
    package let tokenAddress: HTTP1Address
    /// `token_uri` as the file has it, which the signature covers.
    let audience: String
    package let key: RS256PrivateKey
    /// The SHA-256 digest of the public key in DER.
    package let fingerprint: Digest256

    private static let maxSize = 65_536

    /// Reads the file that the Firebase console makes. It blocks.
    package init(file path: String) throws(ServiceAccountError) {
        var bytes: [UInt8]
        do {
            bytes = try BoundedFile.read(path, limit: Self.maxSize)
        } catch {
            throw ServiceAccountError(
                "credential.service_account: \(error); check the path and its permissions, or \(Self.advice)")
        }
        defer { wipe(&bytes) }
        guard bytes.count <= Self.maxSize else {
            throw ServiceAccountError("\(path) is too large for a service account: over \(Self.maxSize) bytes")
        }
        try self.init(bytes, name: path)
    }

    /// - Parameter name: The name of the file, for errors.
    package init(_ bytes: [UInt8], name: String) throws(ServiceAccountError) {
        guard let json = try? JSONDocument(bytes), json.kind(json.root) == .object else {
            throw ServiceAccountError("\(name) is not JSON; \(Self.advice)")
        }
        if json.value("project_info", in: json.root) != nil {
            throw ServiceAccountError("\(name) is google-services.json, the file of the app; \(Self.advice)")
        }
        if let type = Self.text("type", in: json), type != "service_account" {
            throw ServiceAccountError("\(name) has a credential of another type than service_account; \(Self.advice)")
        }
        let project = try Self.required("project_id", in: json, of: name)
        guard let project = ProjectID(project) else {
            throw ServiceAccountError("\(name): project_id is not the id of a project; \(Self.advice)")
        }
        self.project = project
        email = try Self.required("client_email", in: json, of: name)
        keyID = Self.text("private_key_id", in: json)
        for (member, text) in [("client_email", email), ("private_key_id", keyID ?? "")] {
            guard text.utf8.count <= 256, text.utf8.allSatisfy({ (0x21..<0x7f).contains($0) }) else {
                throw ServiceAccountError("\(name): \(member) has characters that no such name has; \(Self.advice)")
            }
        }
        audience = Self.text("token_uri", in: json) ?? Self.usualAudience
        guard let address = HTTP1Address(audience), address.isSecure else {
            throw ServiceAccountError("\(name): token_uri is not an address that begins with https://; \(Self.advice)")
        }
        tokenAddress = address
        var pem = Array(try Self.required("private_key", in: json, of: name).utf8)
        defer { wipe(&pem) }
        do {
            key = try RS256PrivateKey(pem: .bytes(pem))
        } catch {
            // The error names "the given PEM" and never repeats it.
            throw ServiceAccountError("\(name): private_key cannot be used: \(error); \(Self.advice)")
        }
        fingerprint = key.publicKey.fingerprint
    }

    private static let usualAudience = "https://oauth2.googleapis.com/token"
    private static let advice =
        "make a key in the Firebase console, under Project settings, Service accounts, Generate new private key"

    private static func text(_ member: StaticString, in json: JSONDocument) -> String? {
        json.value(member, in: json.root).flatMap { json.string($0) }
    }

    private static func required(
        _ member: StaticString, in json: JSONDocument, of name: String
    ) throws(ServiceAccountError) -> String {
        guard let text = text(member, in: json), !text.isEmpty else {
            throw ServiceAccountError("\(name): \(member) is missing; \(advice)")
        }
        return text
    }

    package static func == (left: ServiceAccount, right: ServiceAccount) -> Bool {
        left.fingerprint == right.fingerprint && left.email == right.email && left.keyID == right.keyID
            && left.audience == right.audience && left.project == right.project
    }

    package func hash(into hasher: inout Hasher) {
        hasher.combine(fingerprint)
        hasher.combine(email)
        hasher.combine(audience)
    }

    package var description: String { "service account \(email)" }
}

/// Why a file is not a service account that can be used.
package struct ServiceAccountError: Error, Hashable, Sendable, CustomStringConvertible {
    package let description: String

    init(_ description: String) {
        self.description = description
    }
}
