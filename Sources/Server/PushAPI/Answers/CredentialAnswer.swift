package import PushModel
package import PushTime

/// The credential of an app, or the certificate of the HTTP port, without anything secret. Times are milliseconds since 1970; unknown values are left out.
package struct CredentialAnswer: JSONAnswer, Equatable {
    package enum Kind: String, Codable, Sendable, SchemaChoice {
        /// A `.p8` key, which signs provider tokens and does not expire.
        case key = "provider_key"
        case certificate
        /// An account with a key that signs requests for access tokens.
        case serviceAccount = "service_account"
        /// A key that identifies the app to the push services of browsers.
        case vapid
    }

    package enum State: String, Codable, Sendable, SchemaChoice {
        /// The newest files are in use.
        case inUse = "in_use"
        /// The newest files cannot be used; those that were read at `read_at` stay in use.
        case kept
        /// There is no usable credential: nothing is sent for the app.
        case unusable
    }

    package var app: String?
    package var kind: Kind
    package var state: State
    package var name: String
    package var file: String
    package var keyID: String?
    package var teamID: String?
    package var subject: String?
    package var issuer: String?
    package var topics: [String]?
    package var fingerprint: String?
    package var validFrom: WallTime?
    package var expiresAt: WallTime?
    package var usedBy: [String]
    package var readAt: WallTime?
    package var failedAt: WallTime?
    package var fault: String?
    package var renewal: String?

    package enum CodingKeys: String, CodingKey {
        case app, kind, state, name, file, subject, issuer, topics, fingerprint, fault, renewal
        case keyID = "key_id"
        case teamID = "team_id"
        case validFrom = "valid_from_at"
        case expiresAt = "expires_at"
        case usedBy = "used_by"
        case readAt = "read_at"
        case failedAt = "failed_at"
    }

    package static var about: [String: String] {
        [
            "app": "The app; left out for the certificate of the HTTP port.",
            "kind": "A key signs tokens and does not expire, as that of a service account; a certificate does.",
            "state":
                "in_use; kept, if the newest files cannot be used and the former ones stay in use; unusable, if nothing "
                + "can be sent.",
            "name":
                "The id of the key, or the subject of the certificate or service account, or its file if it was never read.",
            "file": "The file of the key or of the certificate.",
            "topics": "The topics of a certificate.",
            "fingerprint": "The SHA-256 digest of the certificate, or of the public key.",
            "expires_at": "The end of the certificate; absent for keys.",
            "renewal": "What to do before it expires.",
            "used_by": "The connections that use it: gateway, feedback, http.",
            "read_at": "When the files in use were read.",
            "failed_at": "When the newest files could not be used.",
            "fault": "Why the newest files cannot be used, or why the push service refuses the credential.",
        ]
    }

    package init(app: AppID?, kind: Kind, state: State, name: String, file: String) {
        self.app = app?.name
        self.kind = kind
        self.state = state
        self.name = name
        self.file = file
        usedBy = []
    }
}

/// A page of the credentials of all apps, by app. That of the HTTP port is the first.
package struct CredentialListAnswer: JSONAnswer, Equatable {
    package var credentials: [CredentialAnswer]
    package var next: PageCursor
}

/// The source of the credentials of a running Carillon. It may be called from any task.
package protocol CredentialSource: Sendable {
    /// Returns the credentials, sorted by app; first that of the HTTP port, if it has one.
    func credentials() async -> [CredentialAnswer]
}
