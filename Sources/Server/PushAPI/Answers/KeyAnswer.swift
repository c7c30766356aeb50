package import PushModel
package import PushTime

/// An API key without its secret. Times are milliseconds since 1970; values that do not apply are left out.
package struct KeyAnswer: JSONAnswer, Equatable {
    package var keyID: String
    package var name: String
    package var state: String
    package var roles: [String]
    /// The apps to which the key is limited; left out if it is for all apps.
    package var apps: [String]?
    package var from: [String]?
    package var bearer: Bool
    /// The maximum number of requests in a second.
    package var rate: Int?
    package var createdAt: WallTime
    package var expiresAt: WallTime?
    /// The end of the overlap, for a key that was rotated.
    package var overlapEndsAt: WallTime?
    package var revokedAt: WallTime?

    package enum CodingKeys: String, CodingKey {
        case name, state, roles, apps, from, bearer, rate
        case keyID = "key_id"
        case createdAt = "created_at"
        case expiresAt = "expires_at"
        case overlapEndsAt = "overlap_ends_at"
        case revokedAt = "revoked_at"
    }

    package init(_ key: APIKey, at now: WallTime) {
        keyID = key.id.description
        name = key.name.text
        state = key.state(at: now).rawValue
        roles = key.roles.granted.map(\.rawValue)
        apps = key.apps?.map(\.name)
        from = key.from.isEmpty ? nil : key.from.map(\.description)
        bearer = key.allowsBearer
        rate = key.rate
        (createdAt, expiresAt) = (key.createdAt, key.expiresAt)
        (overlapEndsAt, revokedAt) = (key.rotatedUntil, key.revokedAt)
    }
}

/// A new API key with its secret, which is shown this once.
package struct MadeKeyAnswer: JSONAnswer, Equatable {
    package var key: KeyAnswer
    package var secret: String

    private enum SecretKey: CodingKey {
        case secret
    }

    package init(_ made: KeyRegistrar.Made, at now: WallTime) {
        key = KeyAnswer(made.key, at: now)
        secret = made.secret.withRevealed { $0 }
    }

    package init(from decoder: any Decoder) throws {
        key = try KeyAnswer(from: decoder)
        secret = try decoder.container(keyedBy: SecretKey.self).decode(String.self, forKey: .secret)
    }

    package func encode(to encoder: any Encoder) throws {
        try key.encode(to: encoder)
        var fields = encoder.container(keyedBy: SecretKey.self)
        try fields.encode(secret, forKey: .secret)
    }
}

/// A page of API keys in the order of their creation.
package struct KeyListAnswer: JSONAnswer, Equatable {
    package var keys: [KeyAnswer]
    package var next: PageCursor

    package init(keys: [KeyAnswer], next: String? = nil) {
        self.keys = keys
        self.next = PageCursor(next)
    }
}
